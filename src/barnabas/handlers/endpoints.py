"""The address at which a client is told to find a broker."""

from barnabas.handlers.context import ClientConnection
from barnabas.metadata.image import BrokerImage, Endpoint

WILDCARD_HOSTS = frozenset({"", "0.0.0.0", "::"})


def endpoint_for(broker: BrokerImage, client: ClientConnection) -> Endpoint | None:
    """By the listener the client came through. A broker bound to every address is found where the client found us."""
    for endpoint in broker.endpoints:
        if endpoint.name == client.listener_name:
            if endpoint.host in WILDCARD_HOSTS:
                return endpoint._replace(host=client.local_host)
            return endpoint
    return None
