"""The address of a broker as returned to a client."""

from barnabas.handlers.context import ClientConnection
from barnabas.metadata.image import BrokerImage, Endpoint

WILDCARD_HOSTS = frozenset({"", "0.0.0.0", "::"})


def endpoint_for(broker: BrokerImage, client: ClientConnection) -> Endpoint | None:
    """For the client's listener. A broker bound to all addresses returns the one the client connected to."""
    for endpoint in broker.endpoints:
        if endpoint.name == client.listener_name:
            if endpoint.host in WILDCARD_HOSTS:
                return endpoint._replace(host=client.local_host)
            return endpoint
    return None
