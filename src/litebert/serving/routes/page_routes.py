"""The page at `/` and the reference at `/docs`: static files of this package, without a file of another host."""

from pathlib import Path
from typing import Final

from fastapi import APIRouter, FastAPI
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

FILES: Final = Path(__file__).parents[1] / "page"
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
router = APIRouter(include_in_schema=False)


@router.get("/")
async def page() -> FileResponse:
    """The page for trying the models."""
    return FileResponse(FILES / "index.html", headers=HEADERS)


@router.get("/docs")
async def docs() -> FileResponse:
    """The reference of the routes."""
    return FileResponse(FILES / "docs.html", headers=HEADERS)


def add_page_files(app: FastAPI) -> None:
    """Serve the scripts and styles of the pages below `/page`."""
    app.mount("/page", StaticFiles(directory=FILES))
