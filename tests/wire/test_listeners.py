"""Which APIs each listener has."""

from barnabas.wire.api_table import ALL_APIS, APIS, BY_KEY, CONTROLLER_APIS

BETWEEN_CONTROLLERS = {52: "vote", 53: "begin_quorum_epoch", 54: "end_quorum_epoch", 59: "fetch_snapshot"}
FROM_BROKERS = {62: "broker_registration", 63: "broker_heartbeat"}
FROM_CONTROLLERS = {70: "controller_registration", 82: "update_raft_voter"}


def test_what_servers_say_to_each_other_is_on_the_controller_listener_alone() -> None:
    alone = {api.key: api.name for api in CONTROLLER_APIS if api.key not in BY_KEY}
    assert alone == BETWEEN_CONTROLLERS | FROM_BROKERS | FROM_CONTROLLERS


def test_each_api_is_on_some_listener_and_in_the_order_of_the_keys() -> None:
    assert {*APIS, *CONTROLLER_APIS} == set(ALL_APIS)
    assert [api.key for api in ALL_APIS] == sorted({api.key for api in ALL_APIS})


def test_records_and_groups_are_on_the_broker_listener_alone() -> None:
    names = {api.name for api in CONTROLLER_APIS}
    assert {"fetch", "api_versions", "create_topics", "add_raft_voter", "describe_quorum"} <= names
    assert not {"produce", "metadata", "join_group", "find_coordinator", "list_offsets"} & names
