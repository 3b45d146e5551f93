"""Kinds of models by the names that configurations give them, and what each leaves out of its configuration."""

from __future__ import annotations

from whichgpu.engine.catalogue.configurations.reader import ATTENTION_FREE


#: Series that are built alike in what their configurations leave out.
#: Keys that classes do not have, and the dimension that they stand for; FNet has no heads, which cost nothing.
UNSTATED: dict[str, dict[str, int]] = {"canine": {"vocab_size": 16384}, "fnet": {"num_attention_heads": 1}}
FALCONS = frozenset(("RefinedWeb", "RefinedWebModel", "falcon"))
BERTS = frozenset(
    (
        *("albert", "bert", "bert-generation", "bros", "camembert", "canine", "clip_text_model", "convbert"),
        *("data2vec-text", "deberta", "deberta-v2", "distilbert", "ernie", "flaubert", "fnet", "funnel", "ibert"),
        *("jina_embeddings_v3", "layoutlm", "layoutlmv3", "lilt", "longformer", "luke", "markuplm", "megatron-bert"),
        *("mluke", "mobilebert", "mpnet", "mra", "nystromformer", "rembert", "roberta", "roberta-prelayernorm"),
        *("roc_bert", "squeezebert", "tapas", "xlm", "xlm-roberta", "xlm-roberta-xl", "xlnet", "xmod", "yoso"),
    )
)
GPTS = frozenset(("bloom", "gpt2", "gpt_bigcode", "opt", "starcoder2"))
UNTIED = frozenset(("codegen", "electra", "gpt_neox", "gptj", "phi", "phi-msft"))
GEMMAS = frozenset(("gemma", "gemma2", "gemma3", "gemma3_text", "gemma3n_text", "gemma4_text", "recurrent_gemma"))
NO_GATE = frozenset(
    (
        *("apertus", "arcee", "biogpt", "ctrl", "gpt_neo", "gpt_neox_japanese", "kosmos_2_text_model", "mbart", "mpt"),
        *("nemotron", "nemotron_h", "openai-gpt", "whisper", "xglm"),
    )
)

#: Activations that come with two matrices: squared ReLU and xIELU were made to do without a gate.
WITHOUT_GATE = frozenset(("relu2", "xielu"))
GATED = frozenset(("bitnet", "t5gemma"))
#: Their configurations state the width of gate and value together.
STATES_BOTH_GATES = frozenset(("kyutai_speech_to_text", "molmo", "moshi", "qwen", "recurrent_gemma"))
NOT_GATED = FALCONS | BERTS | GPTS | UNTIED | NO_GATE
ALL_BIAS = BERTS | GPTS | UNTIED | {"gpt_oss"}
QKV_BIAS = frozenset(
    (
        *("chatglm", "glm", "glm4_moe", "llava_qwen", "qwen", "qwen2", "qwen2_moe", "qwen2_vl"),
        *("qwen2_5_omni_text", "qwen2_5_vl"),
    )
)
LEARNED_POSITIONS = {"gpt2": 0, "gpt_bigcode": 0, "opt": 2, "mpnet": 0, "electra": 2}
LEARNED_POSITIONS |= {"bart": 2, "bigbird_pegasus": 0, "biogpt": 2, "blenderbot": 0, "blenderbot-small": 0, "led": 0}
LEARNED_POSITIONS |= {"mbart": 2, "mvp": 2, "openai-gpt": 0, "plbart": 2}
#: Their table of positions, and the kinds of segments beside it.
LEARNED_POSITIONS |= dict.fromkeys(BERTS - {"funnel", "jina_embeddings_v3", "xlnet"}, 2)
LEARNED_POSITIONS |= dict.fromkeys(("camembert", "mra", "roberta", "xlm-roberta", "xlm-roberta-xl", "yoso"), 1)
LEARNED_POSITIONS |= dict.fromkeys(("bert-generation", "clip_text_model", "distilbert", "flaubert", "mpnet"), 0)
LEARNED_POSITIONS |= {"canine": 16, "deberta": 0, "deberta-v2": 0, "fnet": 4, "tapas": 0, "xlm": 0}
ENCODERS = BERTS | {"electra", "esmc", "eurobert", "gte", "modernbert", "new", "nomic_bert"}
ENCODER_DECODERS = frozenset(
    (
        *("bart", "bigbird_pegasus", "blenderbot", "blenderbot-small", "led", "m2m_100", "marian", "mbart", "mt5"),
        *("mvp", "nllb-moe", "pegasus", "pegasus_x", "plbart", "switch_transformers", "t5", "t5gemma", "umt5"),
    )
)
TIED = (
    FALCONS
    | BERTS
    | GPTS
    | GEMMAS
    | ENCODER_DECODERS
    | {"biogpt", "ctrl", "jetmoe", "kosmos_2_text_model", "openai-gpt", "xglm"}
    | {"cohere", "cohere2", "lfm2", "lfm2_moe", "mamba", "mamba2", "minicpm", "mpt"}
)
#: Query and keys are normalised (q_norm, k_norm in the modules of transformers 5.24); configurations rarely say so.
QK_NORMS = frozenset(
    (
        *("apertus", "dots1", "exaone4", "exaone4_5_text", "gemma3", "gemma3_text", "gemma3n_text", "gemma4_text"),
        *("minimax_m2", "olmo2", "olmo3", "olmoe", "qwen3", "qwen3_moe", "qwen3_next", "qwen3_5_text"),
        *("qwen3_5_moe_text", "qwen3_vl_text", "qwen3_vl_moe_text", "step3p7"),
    )
)
#: Their own code (``trust_remote_code``) joins old and new caches at each step; the second also a prompt's layers.
JOINS_CACHES = frozenset(("chatglm", "qwen"))
JOINS_LAYERS = frozenset(("chatglm",))
#: Classes that hand their answers to the loss as they are: of transformers up to 4.48 (models/*/modeling_*.py of 4.31
#: to 4.52, read), and of one's own code.
PLAIN_LOSSES = FALCONS | {
    *("bloom", "dbrx", "gpt2", "gpt_bigcode", "gpt_neox", "mpt", "opt", "persimmon", "stablelm", "xglm")
}
#: Their classes drop a tenth of the scores of attention, and of what its layers add, unless told (attn_pdrop).
DROPS_OUT = frozenset(("gpt2", "gpt_bigcode"))
OWN_PLAIN_LOSSES = frozenset(("qwen",))
#: Gate and up are one matrix (gate_up_proj in the modules of transformers 5.24, dense_h_to_4h in ChatGLM's).
FUSED_GATES = frozenset(("chatglm", "glm", "glm4", "phi3", "phi3_v", "phi4_multimodal", "phi4mm"))
#: Answers pass through a hyperbolic tangent unless their configuration says otherwise.
CAPS_LOGITS = frozenset(("gemma2", "gemma3n", "gemma3n_text", "recurrent_gemma", "t5gemma", "vaultgemma"))
NO_MLP = ATTENTION_FREE | {"nemotron-nas"}
#: What is read by the keys that most decoders share. Of other kinds the same is assumed, and said to be.
KNOWN = (
    frozenset(
        (
            *(
                "arcee",
                "baichuan",
                "bailing_moe",
                "bamba",
                "bitnet",
                "chatglm",
                "cohere",
                "cohere2",
                "dbrx",
                "deepseek",
            ),
            *("deepseek_v2", "deepseek_v3", "deepseek_v32", "dots1", "ernie4_5", "ernie4_5_moe", "exaone4"),
            *("aria_text", "cwm", "deepseek_v4", "diffllama", "exaone", "exaone_moe", "flex_olmo", "glm4_moe_lite"),
            *("glm4v_moe_text", "glm4v_text", "granitemoeshared", "helium", "hyperclovax", "minicpm3"),
            *("mistral4", "nanochat", "paddleocr_vl_text", "persimmon", "qwen3_omni_moe_text", "vaultgemma"),
            *(
                "ernie4_5_moe_vl",
                "ernie4_5_vl_moe_text",
                "glm_ocr_text",
                "kosmos_2_text_model",
                "longcat_flash",
                "phi4_multimodal",
            ),
            *("apertus1p5_text", "axk1", "cohere2_moe", "flint", "gemma4_unified_text", "granite_docling_text"),
            *("granite_swa", "granitemoe_swa", "hy_v3", "iquestcoder", "jais2", "kolibri1", "laguna", "lara_mini"),
            *("lfm3", "longt5", "mellum", "minimax_m3_vl_text", "mistral_large4_text", "olmo_hybrid", "sarvam_mla"),
            *("sarvam_moe", "solar_open", "step3p5", "youtu"),
            *("qwen2_5_omni_text", "rwkv", "voxtral_realtime_text", "zamba", "zamba2"),
            *("exaone4_5_text", "falcon_h1", "falcon_mamba", "glm", "glm4", "glm4_moe", "glm_moe_dsa", "gpt_neo"),
            *("gpt_oss", "granite", "granitemoe", "granitemoehybrid", "hunyuan_v1_dense", "hunyuan_v1_moe"),
            *(
                "csm",
                "kyutai_speech_to_text",
                "moshi",
                "internlm",
                "internlm2",
                "internlm3",
                "jamba",
                "jetmoe",
                "kimi_k2",
                "kimi_linear",
                "lfm2",
                "lfm2_moe",
            ),
            *("llama", "llama4_text", "mamba", "mamba2", "mimo", "mimo_v2_flash", "minicpm", "minimax"),
            *("minimax_m1", "minimax_m2", "minimax_m3", "ministral3", "mistral", "mixtral", "mllama_text_model"),
            *("mpt", "nemotron", "nemotron-nas", "nemotron_h", "olmo", "olmo2", "olmo3", "olmoe", "orion"),
            *("phi3", "phi3_v", "phi3small", "phi4mm", "phimoe", "qwen", "qwen2", "qwen2_5_vl"),
            *("qwen2_5_vl_text", "qwen2_moe", "qwen2_vl", "qwen2_vl_text", "qwen3", "qwen3_5_moe_text"),
            *("qwen3_5_text", "qwen3_moe", "qwen3_next", "qwen3_vl_moe_text", "qwen3_vl_text", "seed_oss"),
            *("smollm3", "stablelm", "step3p7", "solar"),
            *("cogvlm", "llava", "llava_llama", "llava_mistral", "llava_qwen"),
        )
    )
    | NOT_GATED
    | GEMMAS
    | ENCODERS
    | ENCODER_DECODERS
)
#: Models with encoders beside their language model whose modules were counted (benchmarks/lab/counted.py). Encoders of
#: others are read as plain ones, and said to be.
KNOWN_WHOLES = frozenset(
    (
        *(
            "blip-2",
            "ernie4_5_moe_vl",
            "ernie4_5_vl_moe",
            "florence2",
            "glm_ocr",
            "got_ocr2",
            "granite_speech",
            "instructblip",
        ),
        *("instructblipvideo", "janus", "kosmos-2", "phi4_multimodal", "qwen2_5_omni_thinker", "video_llava"),
        *(
            "audioflamingo3",
            "fuyu",
            "gemma3n",
            "glmga",
            "granite_speech_plus",
            "hyperclovax_vision_v2",
            "pp_chart2table",
        ),
        *(
            "video_llama_3",
            "voxtral_realtime",
            "cohere2_vision",
            "deepseek_vl",
            "exaone4_5",
            "gemma3",
            "gemma4",
            "gemma4_unified",
            "glm46v",
        ),
        *("glm4v", "glm4v_moe", "glmasr", "idefics3", "internvl", "kimi_k25", "kimi_k3", "lfm2_vl", "llama4"),
        *("llava", "llava_next", "llava_next_video", "llava_onevision", "minicpmv4_6", "minicpmv4_7"),
        *("minimax_m3_vl", "ministral3", "mistral3", "mistral_large4", "mllama", "ovis2", "paddleocr_vl"),
        *("paligemma", "phi3_v", "phi4mm", "pixtral", "qwen2_5_vl", "qwen2_audio", "qwen2_vl", "qwen3_5"),
        *("qwen3_5_moe", "qwen3_asr", "qwen3_omni_moe_thinker", "qwen3_vl", "qwen3_vl_moe", "shieldgemma2"),
        "t5gemma",
        *("smolvlm", "step3p7", "vipllava", "voxtral"),
        # Counted by published sizes (model_configs.jsonl): transformers has no class for them.
        *("chatglm", "cogvlm", "idefics2", "internvl_chat", "llava_llama", "llava_mistral", "llava_qwen", "minicpmv"),
        "qwen",
    )
)
