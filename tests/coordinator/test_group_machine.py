"""Random interleavings of clients, time, failing logs and crashing coordinators, against what must always hold."""

from typing import Any

from group_core import REBALANCE_MS, SESSION_MS, Answer, Core, subscription
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from barnabas.coordinator.group.classic.group import ClassicGroup
from barnabas.coordinator.group.classic.join import MemberIdAssigned
from barnabas.coordinator.group.classic.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from barnabas.coordinator.group.common.settings import GroupSettings
from barnabas.wire.errors import CoordinatorNotAvailable
from property_effort import examples

SIZE_MAX = 4

PROTOCOLS = [
    {"range": subscription("t")},
    {"range": subscription("t", "u"), "sticky": subscription("t", "u")},
    {"sticky": subscription("t"), "range": subscription("t")},
    {"range": b"?"},
]


class Client:
    """The state of a real client: its id, its generation, and its open requests."""

    def __init__(self, instance: str | None) -> None:
        self.instance = instance
        self.member = ""
        self.generation = -1
        self.leads = False
        self.members: list[str] = []
        self.joining: Answer | None = None
        self.syncing: Answer | None = None

    def forget(self) -> None:
        self.member, self.generation, self.leads = "", -1, False

    def hear(self) -> None:
        """Process the answers that have come since."""
        if self.joining is not None and not self.joining.is_waiting:
            answer, self.joining = self.joining, None
            if isinstance(answer.outcome, MemberIdAssigned):
                self.member = answer.outcome.member_id
            elif answer.error == "":
                self.member, self.generation = answer.response.member_id, answer.response.generation_id
                self.leads = answer.response.leader == self.member and not answer.response.skip_assignment
                self.members = [each.member_id for each in answer.response.members]
            elif answer.error in ("UnknownMemberId", "FencedInstanceId", "GroupMaxSizeReached"):
                self.forget()
        if self.syncing is not None and not self.syncing.is_waiting:
            answer, self.syncing = self.syncing, None
            if answer.error in ("UnknownMemberId", "FencedInstanceId", "IllegalGeneration"):
                self.forget()


clients = st.integers(0, 5)


class GroupMachine(RuleBasedStateMachine):
    @initialize(settings=st.sampled_from([GroupSettings(), GroupSettings(group_size_max=SIZE_MAX)]))
    def begin(self, settings: GroupSettings) -> None:
        self.core = Core(settings)
        self.clients = [Client(instance) for instance in (None, None, None, None, "static-a", "static-b")]
        self.leaders: dict[int, set[str]] = {}
        self.offset: int | None = None

    def hear(self) -> None:
        for client in self.clients:
            answer = client.joining
            client.hear()
            heard = client.joining is None and answer is not None and answer.error == ""
            if (
                heard and client.leads
            ):  # after an error it may still believe that it leads a generation from before a crash
                self.leaders.setdefault(client.generation, set()).add(client.instance or client.member)
        if "g" not in self.core.shard.groups:
            self.leaders.clear()  # a group of that name would begin with generation 1 again

    @rule(who=clients, protocols=st.sampled_from(PROTOCOLS), version=st.sampled_from([3, 8, 9]))
    def join(self, who: int, protocols: dict[str, bytes], version: int) -> None:
        client = self.clients[who]
        client.joining = self.core.join(
            member=client.member, instance=client.instance, protocols=protocols, version=version
        )
        self.hear()

    @rule(who=st.sets(clients, min_size=1, max_size=4), protocols=st.sampled_from(PROTOCOLS), synced=st.integers(0, 4))
    def form(self, who: set[int], protocols: dict[str, bytes], synced: int) -> None:
        """A state that random steps seldom reach: several members of one generation, some with an assignment."""
        self.core.refuse = None
        if self.core.hold:
            self.held_is_committed()
        chosen = [self.clients[each] for each in sorted(who)]
        for client in chosen:
            for _ in range(2):
                if client.joining is None:
                    client.joining = self.core.join(member=client.member, instance=client.instance, protocols=protocols)
                    self.hear()
        self.core.advance(2 * self.core.initial_delay_ms)
        self.hear()
        for client in sorted(chosen, key=lambda each: each.leads)[-synced:] if synced else []:
            self.sync(self.clients.index(client), b"", 0)

    @rule(who=clients)
    def restart_client(self, who: int) -> None:
        self.clients[who] = Client(self.clients[who].instance)

    @rule(who=clients, salt=st.binary(max_size=2), generation_off=st.sampled_from([0, 0, 0, 1]))
    def sync(self, who: int, salt: bytes, generation_off: int) -> None:
        client = self.clients[who]
        assignments = {each: each.encode() + salt for each in client.members} if client.leads else {}
        client.syncing = self.core.sync(
            client.member, client.generation + generation_off, assignments, instance=client.instance
        )
        answer = client.syncing
        self.hear()
        if not answer.is_waiting and answer.error == "" and answer.response.assignment:
            assert b"static-" in answer.response.assignment or answer.response.assignment.startswith(
                client.member.encode()
            ), "an assignment goes to the member it was made for"

    @rule(who=clients)
    def heartbeat(self, who: int) -> None:
        client = self.clients[who]
        error = self.core.heartbeat(client.member, client.generation, instance=client.instance)
        if error in ("UnknownMemberId", "FencedInstanceId"):
            client.forget()

    @rule(who=clients)
    def leave(self, who: int) -> None:
        client = self.clients[who]
        self.core.leave((client.member, client.instance))
        client.forget()
        self.hear()

    @rule(who=clients, offset=st.integers(0, 9), simple=st.booleans())
    def commit(self, who: int, offset: int, simple: bool) -> None:
        client = self.clients[who]
        fields: dict[str, Any] = (
            {} if simple else {"member": client.member, "generation": client.generation, "instance": client.instance}
        )
        before = len(self.core.log)
        self.core.commit_offsets({("t", 0): offset, ("u", 1): offset}, **fields)
        if len(self.core.log) > before:
            self.offset = offset

    @rule(by_ms=st.sampled_from([1, 1_000, 3_000, SESSION_MS // 2, SESSION_MS, REBALANCE_MS]))
    def time_passes(self, by_ms: int) -> None:
        self.core.advance(by_ms)
        self.hear()
        if "g" not in self.core.shard.offsets:
            self.offset = None

    @rule()
    def hours_pass(self) -> None:
        self.time_passes(3_600_000)

    @precondition(lambda self: not self.core.hold)
    @rule()
    def commits_are_held(self) -> None:
        self.core.hold = True

    @precondition(lambda self: self.core.hold)
    @rule()
    def held_is_committed(self) -> None:
        self.core.commit_held()
        self.hear()

    @precondition(lambda self: self.core.hold)
    @rule()
    def held_fails(self) -> None:
        self.core.fail_held(CoordinatorNotAvailable())
        self.hear()

    @rule()
    def disk_fills_and_empties(self) -> None:
        self.core.refuse = None if self.core.refuse else CoordinatorNotAvailable()

    @rule()
    def crash(self) -> None:
        """State that was not stored is lost: generations may be assigned again."""
        self.core = self.core.reloaded()
        self.leaders.clear()
        for client in self.clients:
            client.joining = client.syncing = None

    # What must always hold

    @invariant()
    def the_log_gives_the_durable_state_back(self) -> None:
        other = self.core.reloaded()
        assert other.shard.stored_groups == self.core.shard.stored_groups
        assert other.shard.offsets == self.core.shard.offsets
        assert self.core.offset("t", 0) == self.offset

    @invariant()
    def one_generation_has_one_leader(self) -> None:
        assert all(len(leaders) == 1 for leaders in self.leaders.values()), self.leaders

    @invariant()
    def no_request_is_lost(self) -> None:
        group = self.core.shard.groups.get("g")
        members = [] if group is None else list(group.members.values())
        waiting = {parked for each in members for parked in (each.awaiting_join, each.awaiting_sync) if parked}
        assert set(self.core.parked) == waiting

    @invariant()
    def the_group_is_sound(self) -> None:
        group = self.core.shard.groups.get("g")
        if group is not None:
            check_members(group)
            check_state(self.core, group)


def check_members(group: ClassicGroup) -> None:
    members = group.members
    assert group.joined_count == sum(each.awaiting_join is not None for each in members.values())
    assert group.pending_joins.isdisjoint(members)
    assert group.pending_syncs <= set(members)
    assert group.static_members == {
        each.group_instance_id: each.member_id for each in members.values() if each.group_instance_id is not None
    }
    counts: dict[str, int] = {}
    for each in members.values():
        for name in each.protocols:
            counts[name] = counts.get(name, 0) + 1
    assert group._protocol_counts == counts
    assert (group.leader_id in members) if members else group.leader_id is None


def check_state(core: Core, group: ClassicGroup) -> None:
    timers = core.shard.timers
    if group.state is EMPTY:
        assert not group.members
    if group.state is PREPARING_REBALANCE:
        assert timers.deadline_ms(group.join_key) is not None, "a member would wait for ever"
        assert group.generation > 0 or group.initial_delay is not None
    else:
        assert group.joined_count <= 1, "only a returning static member waits for its record"
    if group.state in (COMPLETING_REBALANCE, STABLE):
        assert group.members
        assert all(group.protocol in each.protocols for each in group.members.values())
        if group.pending_syncs:
            assert timers.deadline_ms(group.sync_key) is not None
    if group.state is STABLE:
        assert not any(each.awaiting_sync for each in group.members.values())
        if not core.held:
            stored = core.shard.stored_groups["g"]
            assert stored.generation == group.generation
            assert {each.member_id: each.assignment for each in stored.members} == {
                each.member_id: each.assignment for each in group.members.values()
            }
    for each in group.members.values():
        assert each.has_parked_request or timers.deadline_ms(each.session_key) is not None, "it would live for ever"
    for pending in group.pending_joins:
        assert timers.deadline_ms(("session", "g", pending)) is not None


TestGroupMachine = GroupMachine.TestCase
TestGroupMachine.settings = settings(max_examples=examples(75), stateful_step_count=30, deadline=None)
