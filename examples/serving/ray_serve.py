"""The server as replicas of Ray Serve.

    pip install 'litebert[serve]' 'ray[serve]'
    LITEBERT_MODEL=runs/sst-2 serve run ray_serve:application

Ray Serve starts the replicas and spreads the requests; each replica batches those that it gets.
"""

import os

from ray import serve

from litebert.serving.app import create_app
from litebert.serving.serve_settings import ServeSettings


def replica_app():
    return create_app(ServeSettings(models=(os.environ["LITEBERT_MODEL"],), threads=1))


@serve.deployment(num_replicas=2, max_ongoing_requests=256, ray_actor_options={"num_cpus": 1})
@serve.ingress(replica_app)
class Litebert:
    """One replica: the application of `litebert serve`."""


application = Litebert.bind()
