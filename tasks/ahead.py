"""Work that is done in a thread while its user works on what came before."""

import queue
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")


class Ahead(Generic[T]):
    """The items of an iterator, made in a thread of its own, at most so many before they are taken.

    What the iterator raises is raised where its items are taken. Leaving the context ends the thread.
    """

    def __init__(self, items: Iterator[T], *, most: int = 2) -> None:
        self._items = items
        self._handed: queue.Queue[tuple[T] | BaseException | None] = queue.Queue(maxsize=most)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="ahead", daemon=True)

    def _work(self) -> None:
        last: BaseException | None = None
        try:
            for item in self._items:
                self._handed.put((item,))
                if self._is_over.is_set():
                    break
        except BaseException as error:  # noqa: BLE001 - raised again where the items are taken
            last = error
        self._handed.put(last)

    def __enter__(self) -> Iterator[T]:
        self._thread.start()
        return self._taken()

    def _taken(self) -> Iterator[T]:
        while (handed := self._handed.get()) is not None:
            if isinstance(handed, BaseException):
                raise handed
            yield handed[0]

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        while self._thread.is_alive():  # a full queue must not hold it
            with suppress(queue.Empty):
                self._handed.get(timeout=0.01)
