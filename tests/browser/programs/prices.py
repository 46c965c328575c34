"""A FastAPI application under uvicorn, and its own client in a thread."""

import threading
import urllib.request

import uvicorn
from fastapi import FastAPI

app = FastAPI()


def discounted(price: int) -> float:
    """The price after every discount that applies."""
    result = float(price)
    for step in range(1, 40):
        if price % step == 0:
            result *= 0.99
    return round(result, 2)


@app.get("/prices")
def prices(count: int = 400) -> list[float]:
    """Prices of the first products."""
    return [discounted(price) for price in range(1, count)]


def ask(port: int) -> None:
    """Request prices one after the other."""
    while True:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/prices") as answer:
            answer.read()


class Server(uvicorn.Server):
    """Starts its client when it listens."""

    async def startup(self, sockets=None) -> None:
        await super().startup(sockets)
        port = self.servers[0].sockets[0].getsockname()[1]
        threading.Thread(target=ask, args=[port], daemon=True).start()


if __name__ == "__main__":
    Server(uvicorn.Config(app, port=0, log_level="warning")).run()
