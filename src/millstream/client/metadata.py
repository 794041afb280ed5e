"""What a Metadata response says, as values of our own."""

from millstream.client.refusals import error_code
from millstream.client.topics import Metadata, Node, Partition, Topic
from millstream.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


def read_metadata(response: MetadataResponse) -> Metadata:
    """The cluster as *response* tells of it."""
    nodes = {each.node_id: Node(each.node_id, each.host, each.port, each.rack) for each in response.brokers}
    topics = [_topic(each) for each in response.topics]
    controller = response.controller_id if response.controller_id >= 0 else None
    return Metadata(response.cluster_id, controller, nodes, {each.name: each for each in topics})


def _topic(said: MetadataResponseTopic) -> Topic:
    partitions = sorted((_partition(each) for each in said.partitions), key=lambda each: each.index)
    return Topic(
        said.name or "", said.topic_id, said.is_internal, tuple(partitions), error_code(said.error_code)
    )


def _partition(said: MetadataResponsePartition) -> Partition:
    return Partition(
        said.partition_index,
        said.leader_id if said.leader_id >= 0 else None,
        said.leader_epoch,
        tuple(said.replica_nodes),
        tuple(said.isr_nodes),
        tuple(said.offline_replicas),
    )
