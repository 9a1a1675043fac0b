"""The models of a server by name; each can be replaced by a newer one without losing a request."""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

from litebert.errors import ConfigError, LitebertError
from litebert.files import model_name
from litebert.serving.http.http_errors import ReloadError, RequestError, UnknownModelError
from litebert.serving.loaded_model import LoadedModel, digest_of, find_directory, load
from litebert.serving.serve_settings import ServeSettings
from litebert.serving.served_model import ServedModel
from litebert.serving.server_metrics import ServerMetrics
from litebert.settings import validate_not_empty

logger = logging.getLogger(__name__)


class ModelRegistry:
    """Every model of a server."""

    def __init__(self, settings: ServeSettings, metrics: ServerMetrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._directories = directories_by_name(settings.models)
        loaded = {name: load(directory, settings) for name, directory in self._directories.items()}
        self._models = {name: self._served(name, model) for name, model in loaded.items()}
        self._reloading = asyncio.Lock()

    def __iter__(self) -> Iterator[ServedModel]:
        """The models in the order of the settings."""
        return iter(self._models.values())

    def find(self, name: str | None, route: str) -> ServedModel:
        """The model of this name, or the first one with this route."""
        if name is not None:
            self._check_name(name)
            if route not in self._models[name].loaded.routes:
                raise RequestError(self._missing_route(self._models[name], route))
            return self._models[name]
        for model in self:
            if route in model.loaded.routes:
                return model
        raise RequestError(self._missing_route(next(iter(self)), route))

    def check_capacity(self, route: str) -> None:
        """Raise OverloadedError if every model with this route has a full queue: a request need not be read then."""
        models = [model for model in self if route in model.loaded.queued_routes]
        if models and all(model.is_full for model in models):
            models[0].check_capacity()

    async def reload(self, name: str | None = None, *, only_changed: bool = False) -> list[ServedModel]:
        """Load models again from their directories, beside those in use, and replace them; the new models.

        Requests that wait for the old model get its answers. Raises ReloadError, and keeps every model, if one of the
        directories cannot be loaded or has another task. With `only_changed`, models whose files are those in use stay.
        """
        if name is not None:
            self._check_name(name)
        names = [name] if name is not None else list(self._models)
        async with self._reloading:
            loaded = {each: await asyncio.to_thread(self._load_successor, each, only_changed) for each in names}
            new = {name: self._served(name, model) for name, model in loaded.items() if model is not None}
            old = [self._models[each] for each in new]
            self._models |= new
        for model in old:
            await model.close()
        for name, model in new.items():
            logger.info("reloaded %s: its files have the digest %s", name, model.loaded.digest)
        return list(new.values())

    async def close(self) -> None:
        """Answer what waits in every queue."""
        await asyncio.gather(*(model.close() for model in self))

    def _served(self, name: str, loaded: LoadedModel) -> ServedModel:
        self._metrics.set_digest(name, loaded.digest)
        return ServedModel(name, loaded, self._settings, self._metrics.of_model(name))

    def _load_successor(self, name: str, only_changed: bool) -> LoadedModel | None:
        """The new model; None if `only_changed` and its files are those of the one in use."""
        directory, before = self._directories[name], self._models[name].loaded
        try:
            if only_changed and digest_of(find_directory(directory, self._settings)) == before.digest:
                return None
            loaded = load(directory, self._settings)
        except (LitebertError, OSError) as error:
            raise ReloadError(f"{error}; the model in use stays") from None
        if loaded.task != before.task:
            raise ReloadError(
                f"{name}: the new model is for {loaded.task}, the one in use for {before.task}, which stays"
            )
        return loaded

    def _check_name(self, name: str) -> None:
        if name not in self._models:
            raise UnknownModelError(f"model: not served; expected one of {', '.join(self._models)}")

    def _missing_route(self, model: ServedModel, route: str) -> str:
        return f"{route}: the model {model.name!r} is for {model.loaded.task}; use {', '.join(model.loaded.routes)}"


def directories_by_name(models: tuple[str, ...]) -> Mapping[str, str]:
    """Name → directory, from NAME=DIRECTORY or the name of the directory; ConfigError if two have one name."""
    found: dict[str, str] = {}
    for model in models:
        name, equals, directory = model.partition("=")
        if not equals or Path(model).exists():  # names of directories may have the sign, as those of a sweep
            name, directory = model_name(model), model
        validate_not_empty(name, directory, otherwise="leave the model out")
        validate_not_empty(f"the name of {directory}", name, otherwise="write the directory alone")
        if name in found:
            raise ConfigError(f"models: two of them have the name {name!r}; write NAME={directory}")
        found[name] = directory
    return found
