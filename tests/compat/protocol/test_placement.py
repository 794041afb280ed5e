"""What tools ask of a cluster that has one node, no passwords, no rules: kafka-compat §5.11.5, §5.12.3."""

import pytest
from tests.compat.protocol.asking import create
from tests.compat.protocol.line import Line

from millstream.errors import ErrorCode
from millstream.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsRequestPartition,
    AlterPartitionReassignmentsRequestTopic,
    AlterPartitionReassignmentsResponse,
)
from millstream.wire.messages.create_acls import (
    CreateAclsRequest,
    CreateAclsRequestCreation,
    CreateAclsResponse,
)
from millstream.wire.messages.delete_acls import (
    DeleteAclsRequest,
    DeleteAclsRequestFilter,
    DeleteAclsResponse,
)
from millstream.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from millstream.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsRequestUser,
    DescribeUserScramCredentialsResponse,
)
from millstream.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersRequestTopic,
    ElectLeadersResponse,
)
from millstream.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsRequestTopic,
    ListPartitionReassignmentsResponse,
)

NOT_NEEDED, NO_SUCH = ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", range(3))
def test_5_11_5_no_election_is_needed(wire: Line, name: str, version: int) -> None:
    create(wire, name)
    asked = [ElectLeadersRequestTopic(name, [0, 1]), ElectLeadersRequestTopic("nowhere", [0])]
    told = wire.ask(ElectLeadersRequest(0, asked), ElectLeadersResponse, version)
    found = {
        (topic.topic, each.partition_id): each.error_code
        for topic in told.replica_election_results
        for each in topic.partition_result
    }
    assert told.error_code == 0
    assert found == {(name, 0): NOT_NEEDED, (name, 1): NO_SUCH, ("nowhere", 0): NO_SUCH}


@pytest.mark.parametrize("version", range(3))
def test_5_11_5_of_all_partitions_those_are_told_that_need_an_election(wire: Line, version: int) -> None:
    told = wire.ask(ElectLeadersRequest(0, None), ElectLeadersResponse, version)
    assert (told.error_code, told.replica_election_results) == (0, [])


def test_there_are_two_kinds_of_elections(wire: Line) -> None:
    assert wire.ask(ElectLeadersRequest(1, None), ElectLeadersResponse, 2).error_code == 0
    assert (
        wire.ask(ElectLeadersRequest(2, None), ElectLeadersResponse, 2).error_code
        == ErrorCode.INVALID_REQUEST
    )


@pytest.mark.parametrize("version", range(2))
def test_a_partition_can_be_moved_to_where_it_is(wire: Line, name: str, version: int) -> None:
    create(wire, name)
    here = {1: 0, 2: ErrorCode.INVALID_REPLICA_ASSIGNMENT}
    for broker, code in here.items():
        assert move(wire, name, 0, [broker], version) == code
    assert move(wire, name, 0, [1, 2], version) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert move(wire, name, 0, [], version) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert move(wire, name, 0, None, version) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert move(wire, name, 1, [1], version) == NO_SUCH
    assert move(wire, "nowhere", 0, [1], version) == NO_SUCH


def move(wire: Line, topic: str, index: int, replicas: list[int] | None, version: int) -> int:
    partition = AlterPartitionReassignmentsRequestPartition(index, replicas)
    request = AlterPartitionReassignmentsRequest(
        topics=[AlterPartitionReassignmentsRequestTopic(topic, [partition])]
    )
    told = wire.ask(request, AlterPartitionReassignmentsResponse, version)
    assert (told.error_code, told.error_message) == (0, None)
    ((answer,),) = [topic.partitions for topic in told.responses]
    assert bool(answer.error_message) == bool(answer.error_code)
    return answer.error_code


def test_no_partition_is_being_moved(wire: Line, name: str) -> None:
    create(wire, name)
    for topics in (None, [], [ListPartitionReassignmentsRequestTopic(name, [0])]):
        told = wire.ask(
            ListPartitionReassignmentsRequest(topics=topics), ListPartitionReassignmentsResponse, 0
        )
        assert (told.error_code, told.error_message, told.topics) == (0, None, [])


def test_nobody_has_a_password(wire: Line) -> None:
    for everybody in (
        DescribeUserScramCredentialsRequest(None),
        DescribeUserScramCredentialsRequest([]),
    ):
        told = wire.ask(everybody, DescribeUserScramCredentialsResponse, 0)
        assert (told.error_code, told.error_message, told.results) == (0, None, [])
    named = [DescribeUserScramCredentialsRequestUser(name) for name in ("once", "twice", "twice")]
    told = wire.ask(DescribeUserScramCredentialsRequest(named), DescribeUserScramCredentialsResponse, 0)
    assert {each.user: each.error_code for each in told.results} == {
        "once": ErrorCode.RESOURCE_NOT_FOUND,
        "twice": ErrorCode.DUPLICATE_RESOURCE,
    }
    assert all(each.error_message and not each.credential_infos for each in told.results)


@pytest.mark.parametrize("version", range(1, 4))
def test_5_12_3_there_are_no_acls_without_an_authorizer(wire: Line, version: int) -> None:
    told = wire.ask(DescribeAclsRequest(1, operation=1, permission_type=1), DescribeAclsResponse, version)
    assert (told.error_code, told.resources) == (ErrorCode.SECURITY_DISABLED, [])
    assert told.error_message

    creations = [CreateAclsRequestCreation(2, "topic", 3, "User:a", "*", 3, 3)] * 2
    made = wire.ask(CreateAclsRequest(creations), CreateAclsResponse, version)
    assert [each.error_code for each in made.results] == [ErrorCode.SECURITY_DISABLED] * 2

    filters = [DeleteAclsRequestFilter(2, operation=1, permission_type=1)]
    gone = wire.ask(DeleteAclsRequest(filters), DeleteAclsResponse, version)
    assert [(each.error_code, each.matching_acls) for each in gone.filter_results] == [
        (ErrorCode.SECURITY_DISABLED, [])
    ]
