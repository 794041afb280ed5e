package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

type admin struct{ *kadm.Client }

func (a admin) Create(ctx context.Context, topic string, partitions int, configs map[string]string) error {
	given := map[string]*string{}
	for name, value := range configs {
		given[name] = kadm.StringPtr(value)
	}
	_, err := a.CreateTopic(ctx, int32(partitions), 1, given, topic)
	return err
}

func (a admin) Delete(ctx context.Context, topic string) error {
	_, err := a.DeleteTopic(ctx, topic)
	return err
}

func (a admin) Grow(ctx context.Context, topic string, partitions int) error {
	told, err := a.UpdatePartitions(ctx, partitions, topic)
	if err != nil {
		return err
	}
	return told.Error()
}

func (a admin) Partitions(ctx context.Context, topic string) (int, error) {
	told, err := a.ListTopics(ctx, topic)
	if err != nil {
		return 0, err
	}
	if errors.Is(told[topic].Err, kerr.UnknownTopicOrPartition) {
		return 0, nil
	}
	return len(told[topic].Partitions), told[topic].Err
}

func (a admin) Configs(ctx context.Context, topic string) (map[string]string, error) {
	told, err := a.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return nil, err
	}
	one, err := told.On(topic, nil)
	if err != nil {
		return nil, err
	}
	configs := map[string]string{}
	for _, config := range one.Configs {
		configs[config.Key] = config.MaybeValue()
	}
	return configs, one.Err
}

func (a admin) SetConfig(ctx context.Context, topic, name, value string) error {
	change := kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: kadm.StringPtr(value)}
	told, err := a.AlterTopicConfigs(ctx, []kadm.AlterConfig{change}, topic)
	if err != nil {
		return err
	}
	one, err := told.On(topic, nil)
	if err != nil {
		return err
	}
	return one.Err
}

func (a admin) Offset(ctx context.Context, topic string, partition int32, time int64) (int64, error) {
	var told kadm.ListedOffsets
	var err error
	switch time {
	case -2:
		told, err = a.ListStartOffsets(ctx, topic)
	case -1:
		told, err = a.ListEndOffsets(ctx, topic)
	default:
		told, err = a.ListOffsetsAfterMilli(ctx, time, topic)
	}
	if err != nil {
		return 0, err
	}
	one, ok := told.Lookup(topic, partition)
	if !ok {
		return 0, fmt.Errorf("nothing was said of it")
	}
	return one.Offset, one.Err
}

func (a admin) Groups(ctx context.Context) ([]string, error) {
	told, err := a.ListGroups(ctx)
	return told.Groups(), err
}

func (a admin) ModernGroups(ctx context.Context) ([]string, error) {
	told, err := a.ListGroupsByType(ctx, []string{"consumer"})
	return told.Groups(), err
}

func (a admin) Group(ctx context.Context, group string) (string, int, error) {
	told, err := a.DescribeGroups(ctx, group)
	if err != nil {
		return "", 0, err
	}
	return told[group].State, len(told[group].Members), told[group].Err
}

func (a admin) DeleteGroup(ctx context.Context, group string) error {
	_, err := a.Client.DeleteGroup(ctx, group)
	return err
}

func (a admin) SetGroupOffset(ctx context.Context, group, topic string, partition int32, offset int64) error {
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, partition, offset, -1)
	return a.CommitAllOffsets(ctx, group, offsets)
}

func (a admin) GroupOffset(ctx context.Context, group, topic string, partition int32) (int64, error) {
	told, err := a.FetchOffsetsForTopics(ctx, group, topic)
	if err != nil {
		return 0, err
	}
	one, ok := told.Lookup(topic, partition)
	if !ok {
		return -1, nil
	}
	return one.At, one.Err
}

func (a admin) DeleteRecords(ctx context.Context, topic string, partition int32, before int64) error {
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, partition, before, -1)
	told, err := a.Client.DeleteRecords(ctx, offsets)
	if err != nil {
		return err
	}
	return told.Error()
}

func (a admin) LogDirs(ctx context.Context, topic string) (int64, error) {
	told, err := a.DescribeAllLogDirs(ctx, nil)
	if err != nil {
		return 0, err
	}
	var bytes int64
	told.Each(func(dir kadm.DescribedLogDir) {
		err = errors.Join(err, dir.Err)
		for _, partition := range dir.Topics[topic] {
			bytes += partition.Size
		}
	})
	return bytes, err
}
