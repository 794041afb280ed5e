package main

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/IBM/sarama"
)

type admin struct {
	client sarama.Client
	sarama.ClusterAdmin
}

func (a admin) Create(_ context.Context, topic string, partitions int, configs map[string]string) error {
	given := map[string]*string{}
	for name, value := range configs {
		given[name] = &value
	}
	detail := &sarama.TopicDetail{NumPartitions: int32(partitions), ReplicationFactor: 1, ConfigEntries: given}
	return a.CreateTopic(topic, detail, false)
}

func (a admin) Delete(_ context.Context, topic string) error { return a.DeleteTopic(topic) }

func (a admin) Grow(_ context.Context, topic string, partitions int) error {
	return a.CreatePartitions(topic, int32(partitions), nil, false)
}

func (a admin) Partitions(_ context.Context, topic string) (int, error) {
	told, err := a.DescribeTopics([]string{topic})
	if err != nil {
		return 0, err
	}
	if errors.Is(told[0].Err, sarama.ErrUnknownTopicOrPartition) {
		return 0, nil
	}
	return len(told[0].Partitions), nil
}

func (a admin) Configs(_ context.Context, topic string) (map[string]string, error) {
	told, err := a.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: topic})
	configs := map[string]string{}
	for _, entry := range told {
		configs[entry.Name] = entry.Value
	}
	return configs, err
}

func (a admin) SetConfig(_ context.Context, topic, name, value string) error {
	change := sarama.IncrementalAlterConfigsEntry{Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value}
	entries := map[string]sarama.IncrementalAlterConfigsEntry{name: change}
	return a.IncrementalAlterConfig(sarama.TopicResource, topic, entries, false)
}

func (a admin) Offset(_ context.Context, topic string, partition int32, time int64) (int64, error) {
	told, err := a.ListOffsets(map[string]map[int32]int64{topic: {partition: time}}, nil)
	if err != nil {
		return 0, err
	}
	one := told[topic][partition]
	if errors.Is(one.Err, sarama.ErrNoError) {
		return one.Offset, nil
	}
	return one.Offset, one.Err
}

func (a admin) Groups(context.Context) ([]string, error) {
	told, err := a.ListConsumerGroups()
	return slices.Collect(maps.Keys(told)), err
}

func (a admin) Group(_ context.Context, group string) (string, int, error) {
	told, err := a.DescribeConsumerGroups([]string{group})
	if err != nil {
		return "", 0, err
	}
	if told[0].Err != sarama.ErrNoError {
		return "", 0, told[0].Err
	}
	return told[0].State, len(told[0].Members), nil
}

func (a admin) DeleteGroup(_ context.Context, group string) error {
	return a.DeleteConsumerGroup(group)
}

func (a admin) SetGroupOffset(_ context.Context, group, topic string, partition int32, offset int64) error {
	change := sarama.OffsetAndMetadata{Offset: offset, LeaderEpoch: -1}
	offsets := map[string]map[int32]sarama.OffsetAndMetadata{topic: {partition: change}}
	told, err := a.AlterConsumerGroupOffsets(group, offsets, nil)
	if err != nil {
		return err
	}
	if code := told.Errors[topic][partition]; code != sarama.ErrNoError {
		return code
	}
	return nil
}

func (a admin) GroupOffset(_ context.Context, group, topic string, partition int32) (int64, error) {
	told, err := a.ListConsumerGroupOffsets(group, map[string][]int32{topic: {partition}})
	if err != nil {
		return 0, err
	}
	one := told.GetBlock(topic, partition)
	if one == nil {
		return 0, errors.New("nothing was said of it")
	}
	if one.Err != sarama.ErrNoError {
		return 0, one.Err
	}
	return one.Offset, nil
}

func (a admin) DeleteRecords(_ context.Context, topic string, partition int32, before int64) error {
	return a.ClusterAdmin.DeleteRecords(topic, map[int32]int64{partition: before})
}

func (a admin) LogDirs(_ context.Context, topic string) (int64, error) {
	var ids []int32
	for _, broker := range a.client.Brokers() {
		ids = append(ids, broker.ID())
	}
	told, err := a.DescribeLogDirs(ids)
	var bytes int64
	for _, dirs := range told {
		for _, dir := range dirs {
			for _, each := range dir.Topics {
				for _, partition := range each.Partitions {
					if each.Topic == topic {
						bytes += partition.Size
					}
				}
			}
		}
	}
	return bytes, err
}
