"""Networks that their names compose: backbones and heads are read out of the name and their maps counted."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from whichgpu.engine.advisor.size_answer import size_workload
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.sizing.composed import composed_network, composed_spec


@pytest.mark.parametrize(
    ("name", "params_m"),
    [
        ("faster_rcnn_R_50_FPN_1x", 41.5),
        ("mask_rcnn_R_101_FPN_3x", 63.2),
        ("retinanet_R_101_FPN_3x", 56.7),
        ("cascade_mask_rcnn_R_50_FPN_3x", 72),
        ("faster_rcnn_X_101_32x8d_FPN_3x", 105),
        ("Mask R-CNN X-101-64x4d-FPN", 102),
        ("DeepLabV3+ R-50-D8", 43.6),
        ("PSPNet R-101-D8", 68),
        ("RetinaNet ResNet-18 FPN", 25.4),
        ("Faster R-CNN VGG-16", 137.1),
        ("mask_rcnn_swin-t-p4-w7_fpn_1x_coco", 48.0),
        ("Cascade Mask R-CNN Swin-B", 145.0),
        ("SOLOv2 R-50", 46.3),
    ],
)
def test_parameters_are_those_of_the_parts(name, params_m):
    found = composed_network(name)
    assert found is not None
    assert found.params_b * 1e3 == pytest.approx(params_m, rel=0.06)


def test_a_detector_over_vgg_keeps_its_maps_from_the_third_block_on():
    found = composed_network("faster_rcnn_VGG16")
    assert found is not None
    assert found.kept_per_pixel == pytest.approx(8 + 3 * 26 + 3 * 6 + 2)
    assert found.elements(600 * 1000) == pytest.approx(128 * 600e3 + 22e6)  # the finest block's two maps


@pytest.mark.parametrize(
    "name",
    ["vgg16", "vgg_16_bn", "resnet50", "yolov8x", "llama-3-8b", "mask", "Mask R-CNN", "R-50", "vit_b_16", "swin_t"],
)
def test_other_names_are_not_taken_for_composed_ones(name):
    assert composed_network(name) is None


@pytest.mark.parametrize("name", ["Mask2Former R-50", "maskformer_r101", "MaskDINO R-50", "PSPNet Swin-T"])
def test_networks_of_their_own_are_not_taken_for_what_they_are_named_like(name):
    assert composed_network(name) is None
    assert composed_spec(name) is None


def test_a_resnext_of_a_width_that_nobody_published_is_unknown():
    assert composed_network("faster_rcnn_X_50_64x8d_FPN") is None


def test_deeper_and_wider_backbones_keep_more():
    def kept(name):
        return composed_network(name).elements(1e6)

    assert kept("mask_rcnn_R_50_FPN_3x") < kept("mask_rcnn_R_101_FPN_3x") < kept("mask_rcnn_X_101_32x8d_FPN_3x")
    assert kept("faster_rcnn_R_50_FPN_3x") < kept("mask_rcnn_R_50_FPN_3x") < kept("panoptic_fpn_R_50_3x")
    assert kept("faster_rcnn_R_50_FPN_3x") < kept("Faster R-CNN R-50-FPN")  # Frozen norms keep fewer copies.
    assert kept("mask_rcnn_R_50_FPN_3x") < kept("mask_rcnn_R_50_FPN_3x_syncbn")


@pytest.mark.parametrize(
    ("name", "batch", "px", "gb"),
    [
        ("faster_rcnn_R_101_FPN_3x", 2, 1333, 4.1),
        ("retinanet_R_101_FPN_3x", 2, 1333, 5.2),
        ("Mask R-CNN X-101-32x4d-FPN", 2, 1333, 7.6),
        ("DeepLabV3+ R-50-D8", 2, 769, 8.5),
        ("Mask R-CNN Swin-T", 2, 1333, 7.6),
        ("Mask2Former R-50", 2, 1024, 13.9),
    ],
)
def test_measured_training_runs_are_met(advisor, name, batch, px, gb):
    facts = {
        "task": "full_finetuning",
        "model_name": name,
        "batch_size_per_gpu": batch,
        "image_px": px,
        "compute_precision": "fp32",
        "gpu": "nvidia-v100-32gb",
    }
    answer = size_workload(advisor, advisor.read(facts))
    assert answer["method"] == "architecture"
    assert answer["allocated_gb"] == pytest.approx(gb, rel=0.12)


def test_an_unstated_picture_has_as_many_pixels_as_the_usual_one(advisor):
    facts = {
        "task": "full_finetuning",
        "model_name": "Mask R-CNN R-50-FPN",
        "batch_size_per_gpu": 8,
        "gpu": "nvidia-l40s",
    }
    usual, stated = (
        size_workload(advisor, advisor.read(facts | more)) for more in ({}, {"image_px": 1333, "image_short_px": 800})
    )
    assert usual["breakdown"]["activations_gb"] == pytest.approx(stated["breakdown"]["activations_gb"], rel=0.01)


@pytest.mark.parametrize(("classes", "gb"), [(150, 10.6), (21, 7.6)])
def test_each_class_of_a_segmentation_has_maps_of_its_own(advisor, classes, gb):
    facts = {"task": "full_finetuning", "model_name": "DeepLabV3+ R-50-D8", "batch_size_per_gpu": 4, "image_px": 512}
    facts |= {"image_short_px": 512, "compute_precision": "fp32", "gpu": "nvidia-v100-32gb"}
    answer = size_workload(advisor, advisor.read(facts | {"classes": classes}))
    assert answer["allocated_gb"] == pytest.approx(gb, rel=0.08)
    wide = size_workload(advisor, advisor.read(facts | {"image_px": 1024, "batch_size_per_gpu": 2, "classes": classes}))
    assert wide["breakdown"]["activations_gb"] == pytest.approx(answer["breakdown"]["activations_gb"])


@pytest.mark.parametrize(
    ("name", "tensors"), [("retinanet_R_50_FPN_3x", 14), ("retinanet_resnet50_fpn", 14), ("RetinaNet R-50-FPN", 3.25)]
)
def test_a_detector_without_regions_scores_every_class_everywhere(name, tensors):
    found = composed_network(name)
    # Nine anchors at 1/64 of the places, 1/256 and so on; COCO has 80 classes where nobody says. A loss of PyTorch's
    # operations keeps what each of them reads, mmdetection's kernel the scores alone.
    assert found.elements(1.0, 0) - found.elements(1.0, 15) == pytest.approx(65 * tensors * 9 / 48, rel=0.01)


def test_a_cascade_has_a_head_of_boxes_for_each_stage_and_masks_by_its_library():
    def fixed(name):
        return composed_network(name).kept_fixed

    boxes = fixed("Cascade R-CNN R-50-FPN") - fixed("Faster R-CNN R-50-FPN")
    assert boxes == pytest.approx(2 * 13e6)
    masks = fixed("Mask R-CNN R-50-FPN") - fixed("Faster R-CNN R-50-FPN")
    assert fixed("Cascade Mask R-CNN R-50-FPN") - fixed("Cascade R-CNN R-50-FPN") == pytest.approx(3 * masks)
    assert fixed("cascade_mask_rcnn_R_50_FPN_3x") - fixed("mask_rcnn_R_50_FPN_3x") == pytest.approx(boxes)


def test_a_segmenter_over_basic_blocks_has_heads_of_a_quarter_of_the_channels():
    assert composed_network("PSPNet R-18-D8").params_b == pytest.approx(0.0128, rel=0.02)  # mmsegmentation
    wide, narrow = (composed_network(name) for name in ("PSPNet R-34-D8", "FCN R-34-D8"))
    assert wide.kept_per_pixel - narrow.kept_per_pixel == pytest.approx((100 - 108) / 4)


def test_towers_with_norms_keep_both_sides_of_them():
    fcos, atss = (composed_network(name) for name in ("rotated_fcos_r50_fpn", "rotated_atss_obb_r50_fpn"))
    assert fcos.kept_per_pixel == atss.kept_per_pixel
    assert fcos.params_b == pytest.approx(0.0322, rel=0.03)


def test_a_name_without_parts_still_is_an_error(advisor):
    with pytest.raises(InputError, match="no model is called"):
        size_workload(advisor, advisor.read({"task": "inference", "model_name": "frobnet", "gpu": "nvidia-t4"}))


@pytest.mark.parametrize(("name", "low", "high"), [("vit_b_16", 7, 14), ("resnet50", 6, 12), ("vit_l_16", 20, 38)])
def test_a_training_step_of_a_classifier_takes_what_is_usual(advisor, name, low, high):
    facts = {"task": "full_finetuning", "model_name": name, "batch_size_per_gpu": 128, "gpu": "nvidia-a100-80gb-sxm"}
    answer = size_workload(advisor, advisor.read(facts))
    assert low <= answer["per_gpu_gb"] <= high
    double = size_workload(advisor, advisor.read({**facts, "batch_size_per_gpu": 256}))
    assert double["breakdown"]["activations_gb"] == pytest.approx(2 * answer["breakdown"]["activations_gb"], rel=1e-4)


def test_losses_are_in_32_bits_whatever_comes_before():
    """What a loss keeps of each class counts twice among activations in 16 bits, the maps of the layers once."""
    found = composed_network("RetinaNet R-50-FPN")
    assert found is not None
    plain, narrow, wide = (found.elements(1e6, *classes) for classes in ((1, 0.0), (80, 1.0), (80, 2.0)))
    assert wide - plain == pytest.approx(2 * (narrow - plain))


def test_a_network_in_16_bits_keeps_its_scores_in_32(advisor):
    facts = {"task": "full_finetuning", "model_name": "RetinaNet R-50-FPN", "batch_size_per_gpu": 2, "image_px": 1333}
    facts |= {"image_short_px": 800, "gpu": "nvidia-v100-32gb"}

    def scores(precision: str) -> float:
        few, many = (
            size_workload(advisor, advisor.read(facts | {"compute_precision": precision, "classes": classes}))
            for classes in (1, 801)
        )
        return many["breakdown"]["activations_gb"] - few["breakdown"]["activations_gb"]

    assert scores("fp16") == pytest.approx(scores("fp32"), rel=0.01)


def test_heads_made_of_known_ones_and_heads_that_nobody_knows():
    atss = composed_network("ATSS R-50-FPN")
    for name in ("PAA R-50-FPN", "GFL R-50-FPN", "VFNet R-50-FPN", "Nobody's Detector R-50-FPN"):
        assert composed_network(name).kept_per_pixel == atss.kept_per_pixel
    retina = composed_network("RetinaNet R-50-FPN")
    assert composed_network("FSAF R-50-FPN").kept_per_pixel == retina.kept_per_pixel
    assert composed_network("Nobody's Segmenter R-50-D8") == replace(
        composed_network("PSPNet R-50-D8"), name="Nobody's Segmenter R-50-D8"
    )
    assert composed_network("DETR R-50") is None
    assert composed_network("resnet50") is None


def test_a_hybrid_task_cascade_has_six_passes_of_masks_and_a_semantic_branch():
    cascade, hybrid = composed_network("Cascade Mask R-CNN R-50-FPN"), composed_network("HTC R-50-FPN")
    assert hybrid.kept_per_pixel - cascade.kept_per_pixel == pytest.approx(57)
    assert hybrid.kept_fixed - cascade.kept_fixed == pytest.approx(3 * 60e6)


@pytest.mark.parametrize("name", ["DeepLabV3+ R-101", "DeepLabV3 R-101", "PSPNet R-50", "FCN R-18"])
def test_maps_of_a_sixteenth_of_the_picture_keep_less(name):
    fine, coarse = composed_network(f"{name}-D8"), composed_network(f"{name}-D16")
    assert coarse.kept_per_pixel < 0.75 * fine.kept_per_pixel
    assert coarse.working_per_pixel == fine.working_per_pixel / 4
    assert composed_network(f"{name} OS16").kept_per_pixel == coarse.kept_per_pixel
    assert coarse.params_b == fine.params_b


def test_a_backbone_that_attends_keeps_more_numbers_where_they_are_narrow():
    found = composed_network("Mask R-CNN Swin-T")
    assert found is not None
    assert found.elements(1e6, wide=2.0) - found.elements(1e6) == pytest.approx((913.0 - 588.1) * 1e6)
    larger = composed_network("Mask R-CNN Swin-L")
    assert larger is not None
    assert larger.elements(1e6) > 2 * found.elements(1e6)


# GB by mmdetection's own table (5f4ef0fe, configs/solov2/README.md), two pictures of 1333 x 800; norms learn there.
@pytest.mark.parametrize(("name", "gb"), [("SOLOv2 R-50", 5.1), ("SOLOv2 R-101", 6.9)])
def test_a_network_that_tells_masks_by_places_takes_what_mmdetection_measured(advisor, name, gb):
    facts = {"task": "full_finetuning", "model_name": name, "batch_size_per_gpu": 2, "image_px": 1333, "gpu_count": 8}
    facts |= {"image_short_px": 800, "gpu": "nvidia-v100-32gb", "compute_precision": "fp32", "optimizer": "sgd"}
    found = size_workload(advisor, advisor.read(facts | {"sharding": "none"}))
    assert found["allocated_gb"] / 8 == pytest.approx(gb, rel=0.13)
