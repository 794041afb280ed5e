package main

import (
	"context"
	"errors"

	"github.com/segmentio/kafka-go"
)

type admin struct{ *kafka.Client }

func (a admin) Create(ctx context.Context, topic string, partitions int, configs map[string]string) error {
	given := kafka.TopicConfig{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1}
	for name, value := range configs {
		given.ConfigEntries = append(given.ConfigEntries, kafka.ConfigEntry{ConfigName: name, ConfigValue: value})
	}
	told, err := a.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{given}})
	if err != nil {
		return err
	}
	return told.Errors[topic]
}

func (a admin) Delete(ctx context.Context, topic string) error {
	told, err := a.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	if err != nil {
		return err
	}
	return told.Errors[topic]
}

func (a admin) Grow(ctx context.Context, topic string, partitions int) error {
	change := kafka.TopicPartitionsConfig{Name: topic, Count: int32(partitions)}
	asked := &kafka.CreatePartitionsRequest{Topics: []kafka.TopicPartitionsConfig{change}}
	told, err := a.CreatePartitions(ctx, asked)
	if err != nil {
		return err
	}
	return told.Errors[topic]
}

// Partitions asks afresh, as the client's own Metadata is answered from a cache.
func (a admin) Partitions(ctx context.Context, topic string) (int, error) {
	conn, err := kafka.DialContext(ctx, a.Addr.Network(), a.Addr.String())
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	all, err := conn.ReadPartitions()
	count := 0
	for _, partition := range all {
		if partition.Topic == topic {
			count++
		}
	}
	return count, err
}

func (a admin) Configs(ctx context.Context, topic string) (map[string]string, error) {
	resource := kafka.DescribeConfigRequestResource{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic}
	asked := &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{resource}}
	told, err := a.DescribeConfigs(ctx, asked)
	if err != nil {
		return nil, err
	}
	configs := map[string]string{}
	for _, entry := range told.Resources[0].ConfigEntries {
		configs[entry.ConfigName] = entry.ConfigValue
	}
	return configs, told.Resources[0].Error
}

func (a admin) SetConfig(ctx context.Context, topic, name, value string) error {
	change := kafka.IncrementalAlterConfigsRequestResource{
		ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
		Configs: []kafka.IncrementalAlterConfigsRequestConfig{
			{Name: name, Value: value, ConfigOperation: kafka.ConfigOperationSet},
		},
	}
	told, err := a.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{change},
	})
	if err != nil {
		return err
	}
	return told.Resources[0].Error
}

func (a admin) Offset(ctx context.Context, topic string, partition int32, time int64) (int64, error) {
	asked := []kafka.OffsetRequest{{Partition: int(partition), Timestamp: time}}
	told, err := a.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: asked}})
	if err != nil {
		return 0, err
	}
	one := told.Topics[topic][0]
	switch time {
	case kafka.FirstOffset:
		return one.FirstOffset, one.Error
	case kafka.LastOffset:
		return one.LastOffset, one.Error
	}
	for offset := range one.Offsets {
		return offset, one.Error
	}
	return -1, one.Error
}

func (a admin) Groups(ctx context.Context) ([]string, error) {
	told, err := a.ListGroups(ctx, &kafka.ListGroupsRequest{})
	if err != nil {
		return nil, err
	}
	var all []string
	for _, group := range told.Groups {
		all = append(all, group.GroupID)
	}
	return all, told.Error
}

func (a admin) Group(ctx context.Context, group string) (string, int, error) {
	told, err := a.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{group}})
	if err != nil {
		return "", 0, err
	}
	return told.Groups[0].GroupState, len(told.Groups[0].Members), told.Groups[0].Error
}

func (a admin) DeleteGroup(ctx context.Context, group string) error {
	told, err := a.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{group}})
	if err != nil {
		return err
	}
	return told.Errors[group]
}

func (a admin) SetGroupOffset(ctx context.Context, group, topic string, partition int32, offset int64) error {
	change := []kafka.OffsetCommit{{Partition: int(partition), Offset: offset}}
	told, err := a.OffsetCommit(ctx, &kafka.OffsetCommitRequest{
		GroupID: group, GenerationID: -1, Topics: map[string][]kafka.OffsetCommit{topic: change},
	})
	if err != nil {
		return err
	}
	return told.Topics[topic][0].Error
}

func (a admin) GroupOffset(ctx context.Context, group, topic string, partition int32) (int64, error) {
	asked := &kafka.OffsetFetchRequest{GroupID: group, Topics: map[string][]int{topic: {int(partition)}}}
	told, err := a.OffsetFetch(ctx, asked)
	if err != nil {
		return 0, err
	}
	return told.Topics[topic][0].CommittedOffset, errors.Join(told.Error, told.Topics[topic][0].Error)
}

func (a admin) DeleteRecords(context.Context, string, int32, int64) error {
	return errors.ErrUnsupported
}

func (a admin) LogDirs(context.Context, string) (int64, error) {
	return 0, errors.ErrUnsupported
}
