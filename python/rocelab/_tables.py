# SPDX-License-Identifier: Apache-2.0
"""Rows with named columns, which need nothing, and become a pandas DataFrame where pandas is there."""
from __future__ import annotations

import array
import html
import re
from collections import namedtuple
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union, overload

from . import _library as lib

_VALUES = -1  # a column of plain values of any kind
_SHOWN = 20  # rows in a notebook

Values = Any  # bytes of the library's cells, or (texts, bytes), or a list


class Table(Sequence[Any]):
    """Rows, each a named tuple; the columns are the members of `rocelab sim --json`.

    `table[0].fct_ps` is a cell, `table["fct_ps"]` a column as a list, `table.frame()` the whole as a pandas
    DataFrame, `table.dicts()` as a list of dicts.  None is where there is no value.  Times are picoseconds where the
    name ends in `_ps`.
    """

    def __init__(self, name: str, rows: int, columns: Sequence[Tuple[str, str, int, Values]]):
        self.name = name
        self._rows = rows
        self._columns = list(columns)
        self._lists: Dict[int, List[Any]] = {}
        self._row: Any = None

    @classmethod
    def _of_dicts(cls, name: str, rows: Sequence[Dict[str, Any]]) -> "Table":
        names: Dict[str, None] = {}
        for row in rows:
            names.update(dict.fromkeys(row))
        return cls(name, len(rows), [(one, "", _VALUES, [row.get(one) for row in rows]) for one in names])

    @property
    def columns(self) -> List[str]:
        """The names of the columns."""
        return [column[0] for column in self._columns]

    def help(self, column: Optional[str] = None) -> str:
        """What a column is, in a sentence; without one a line for each column, or for those that are said together."""
        groups: List[List[str]] = []  # each begins with the column that has the sentence
        texts: List[str] = []
        for name, text, *_ in self._columns:
            if text or not groups:
                groups.append([name])
                texts.append(text)
            else:
                groups[-1].append(name)
        if column is None:
            return "\n".join(f"{', '.join(names)}: {text}" for names, text in zip(groups, texts))
        self._number(column)
        names, text = next(pair for pair in zip(groups, texts) if column in pair[0])
        parts = text.split("; ")
        if len(parts) == len(names):
            return parts[names.index(column)]
        return text if len(names) == 1 else f"{', '.join(names)}: {text}"

    def _number(self, column: str) -> int:
        names = self.columns
        if column not in names:
            raise KeyError(f"no column {column!r} in {self.name}; there are {', '.join(names)}")
        return names.index(column)

    def _list(self, number: int) -> List[Any]:
        if number not in self._lists:
            _, _, kind, values = self._columns[number]
            self._lists[number] = _plain(kind, values)
        return self._lists[number]

    def __len__(self) -> int:
        return self._rows

    def _tuples(self) -> Any:
        if self._row is None:
            fields = [re.sub(r"\W", "_", name) for name in self.columns]
            self._row = namedtuple("Row", fields, rename=True)  # type: ignore[misc]
        return self._row

    @overload
    def __getitem__(self, index: int) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> List[Any]: ...

    @overload
    def __getitem__(self, index: str) -> List[Any]: ...

    def __getitem__(self, index: Union[int, slice, str]) -> Any:
        if isinstance(index, str):
            return list(self._list(self._number(index)))
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._rows))]
        if not -self._rows <= index < self._rows:
            raise IndexError(f"{self.name} has {self._rows} rows")
        return self._tuples()._make(self._list(number)[index] for number in range(len(self._columns)))

    def __iter__(self) -> Iterator[Any]:
        return map(self._tuples()._make, zip(*(self._list(number) for number in range(len(self._columns)))))

    def dicts(self) -> List[Dict[str, Any]]:
        """The rows as dicts by the names of the columns."""
        names = self.columns
        return [dict(zip(names, row)) for row in self]

    def frame(self) -> Any:
        """The table as a pandas DataFrame; missing counts and flags are pandas.NA, missing numbers NaN."""
        try:
            import pandas  # type: ignore[import]
        except ImportError:
            raise ModuleNotFoundError(
                "frame() needs pandas (Debian: apt install python3-pandas); dicts() and rows need nothing"
            ) from None
        return pandas.DataFrame(
            {name: _series(pandas, kind, values) for name, _, kind, values in self._columns}, columns=self.columns
        )

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_lists": {}, "_row": None}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self.columns == other.columns and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<rocelab.Table {self.name}: {self._rows} rows of {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape('' if cell is None else str(cell))}</td>" for cell in row) + "</tr>"
            for row in self[:_SHOWN]
        )
        more = f"<p>{self._rows} rows</p>" if self._rows > _SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _cells(code: str, data: bytes) -> "array.array[Any]":
    cells = array.array(code)
    cells.frombytes(data)
    return cells


def _names(text: Optional[str]) -> Tuple[str, ...]:
    return tuple(text.split("\n")) if text else ()


def _plain(kind: int, values: Values) -> List[Any]:
    """A column as Python has it."""
    if kind == _VALUES:
        return list(values)
    if kind == lib.COUNT:
        return [None if cell == lib.NONE else cell for cell in _cells("Q", values)]
    if kind == lib.FLAG:
        return [None if cell == lib.NONE else cell == 1 for cell in _cells("Q", values)]
    if kind == lib.REAL:
        return [None if cell != cell else cell for cell in _cells("d", values)]
    texts, numbers = values
    if kind == lib.NAMES:
        texts = [_names(text) for text in texts]
    return [texts[number] for number in _cells("I", numbers)]


def _series(pandas: Any, kind: int, values: Values) -> Any:
    """A column as pandas has it, without a Python object for each number."""
    import numpy

    if kind in (lib.COUNT, lib.FLAG):
        cells = numpy.frombuffer(values, dtype="uint64")
        missing = cells == lib.NONE
        numbers = cells.astype("int64") if kind == lib.COUNT else cells == 1
        if not missing.any():
            return numbers
        array_of = pandas.arrays.IntegerArray if kind == lib.COUNT else pandas.arrays.BooleanArray
        return array_of(numbers, missing)
    if kind == lib.REAL:
        return numpy.frombuffer(values, dtype="float64").copy()
    if kind == lib.TEXT:
        texts = numpy.empty(len(values[0]), dtype=object)
        texts[:] = values[0]
        return texts[numpy.frombuffer(values[1], dtype="uint32")]
    return pandas.Series(_plain(kind, values), dtype=None if kind == _VALUES else object)
