"""Rentals that were found, numbered, so that the figures of many of them are read as columns."""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np

from whichgpu.engine.core import given
from whichgpu.engine.plans.costs.model import Rental
from whichgpu.engine.sizing import Floats, Ints


class RentalFigures(NamedTuple):
    """What is known of renting each plan; NaN, and no quotes or machines, where no provider rents it out."""

    usd_per_hour: Floats
    lowest_usd_per_hour: Floats
    spot_usd_per_hour: Floats
    quotes: Floats
    instances: Floats
    assumed: Floats  # 1 where the price was scaled from smaller machines


_NONE = RentalFigures(*map(np.array, (np.nan, np.nan, np.nan, 0.0, 0.0, 0.0)))


class RentalTable:
    """Rentals by number; 0 stands for none. Numbers once given keep their meaning."""

    def __init__(self) -> None:
        self.rentals: list[Rental | None] = [None]
        self._figures = np.array([_NONE] * 64, np.float64)
        self._adding = threading.Lock()

    def add(self, rental: Rental | None) -> int:
        """The number of a rental from now on."""
        if rental is None:
            return 0
        spot = np.nan if rental.spot_usd_per_hour is None else rental.spot_usd_per_hour
        lowest = rental.lowest.usd_per_hour
        with self._adding:
            number = len(self.rentals)
            if number == len(self._figures):
                self._figures = np.concatenate([self._figures, np.empty_like(self._figures)])
            self._figures[number] = (
                rental.usd_per_hour,
                lowest,
                spot,
                rental.quotes,
                rental.instances,
                rental.assumed,
            )
            self.rentals.append(rental)
        return number

    def figures(self, numbers: Ints) -> RentalFigures:
        """The figures of rentals by their numbers."""
        return given(RentalFigures(*self._figures[numbers].T), "rental")
