package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"compat/scenario"

	"github.com/IBM/sarama"
)

// reader reads all partitions of a topic, without a group.
type reader struct {
	scenario.Inbox
	client   sarama.Client
	consumer sarama.Consumer
	topic    string
	parts    map[int32]sarama.PartitionConsumer
}

func (c *client) reader(topic string, settings *sarama.Config) (scenario.Consumer, error) {
	own, err := sarama.NewClient(c.bootstrap, settings)
	if err != nil {
		return nil, err
	}
	consumer, err := sarama.NewConsumerFromClient(own)
	if err != nil {
		return nil, err
	}
	made := &reader{make(scenario.Inbox, 1000), own, consumer, topic, map[int32]sarama.PartitionConsumer{}}
	partitions, err := consumer.Partitions(topic)
	for _, partition := range partitions {
		err = errors.Join(err, made.Seek(context.Background(), partition, sarama.OffsetOldest))
	}
	return made, err
}

func (r *reader) Seek(_ context.Context, partition int32, offset int64) error {
	if old := r.parts[partition]; old != nil {
		old.Close()
	}
	made, err := r.consumer.ConsumePartition(r.topic, partition, offset)
	if err != nil {
		return err
	}
	r.parts[partition] = made
	go func() {
		for message := range made.Messages() {
			r.Inbox <- converted(message)
		}
	}()
	return nil
}

func (r *reader) SeekTime(ctx context.Context, ms int64) error {
	for partition := range r.parts {
		offset, err := r.client.GetOffset(r.topic, partition, ms)
		if err != nil {
			return err
		}
		if err := r.Seek(ctx, partition, offset); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) Owned() []int32               { return nil }
func (r *reader) Revoked() []int32             { return nil }
func (r *reader) Commit(context.Context) error { return nil }
func (r *reader) Pause(partition int32)        { r.parts[partition].Pause() }
func (r *reader) Resume(partition int32)       { r.parts[partition].Resume() }

func (r *reader) Close() {
	for _, part := range r.parts {
		part.Close()
	}
	r.consumer.Close()
	r.client.Close()
}

// member reads as one of a group. Sarama calls it back: see sarama.ConsumerGroupHandler.
type member struct {
	scenario.Inbox
	topic   string
	group   sarama.ConsumerGroup
	stop    context.CancelFunc
	stopped chan struct{}

	mutex   sync.Mutex
	current sarama.ConsumerGroupSession
	owned   map[int32]bool
	revoked []int32
	read    map[int32]int64
}

func (c *client) member(ctx context.Context, how scenario.Reading, settings *sarama.Config) (scenario.Consumer, error) {
	settings.Consumer.Group.Heartbeat.Interval = 100 * time.Millisecond
	settings.Consumer.Group.InstanceId = how.Instance
	settings.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyRange()}
	if how.Protocol == "cooperative" {
		settings.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{
			sarama.NewBalanceStrategyCooperativeSticky(),
		}
	}
	settings.Consumer.Offsets.AutoCommit.Enable = false
	group, err := sarama.NewConsumerGroup(c.bootstrap, how.Group, settings)
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.Background())
	made := &member{
		Inbox: make(scenario.Inbox, 1000), topic: how.Topic, group: group, stop: stop, stopped: make(chan struct{}),
		owned: map[int32]bool{}, read: map[int32]int64{},
	}
	go func() {
		defer close(made.stopped)
		for running.Err() == nil {
			if err := group.Consume(running, []string{how.Topic}, made); err != nil {
				time.Sleep(50 * time.Millisecond)
			}
		}
	}()
	return made, nil
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.current = session
	return nil
}

func (m *member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	m.mutex.Lock()
	m.owned[claim.Partition()] = true
	m.mutex.Unlock()
	for message := range claim.Messages() {
		m.Inbox <- converted(message)
	}
	m.mutex.Lock()
	delete(m.owned, claim.Partition())
	m.revoked = append(m.revoked, claim.Partition())
	m.mutex.Unlock()
	return nil
}

func (m *member) session() sarama.ConsumerGroupSession {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.current
}

func (m *member) Poll(ctx context.Context) ([]scenario.Record, error) {
	got, err := m.Inbox.Poll(ctx)
	for _, record := range got {
		m.read[record.Partition] = record.Offset + 1
	}
	return got, err
}

func (m *member) Owned() []int32 {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	var all []int32
	for partition := range m.owned {
		all = append(all, partition)
	}
	return all
}

func (m *member) Revoked() []int32 {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return append([]int32(nil), m.revoked...)
}

func (m *member) Commit(context.Context) error {
	session := m.session()
	for partition, offset := range m.read {
		session.MarkOffset(m.topic, partition, offset, "")
	}
	session.Commit()
	return nil
}

func (m *member) Seek(context.Context, int32, int64) error { return errors.ErrUnsupported }
func (m *member) SeekTime(context.Context, int64) error    { return errors.ErrUnsupported }
func (m *member) Pause(partition int32)                    { m.group.Pause(map[string][]int32{m.topic: {partition}}) }
func (m *member) Resume(partition int32)                   { m.group.Resume(map[string][]int32{m.topic: {partition}}) }

func (m *member) Close() {
	m.stop()
	m.group.Close()
	<-m.stopped
}

func converted(message *sarama.ConsumerMessage) scenario.Record {
	made := scenario.Record{
		Partition: message.Partition, Offset: message.Offset, Key: message.Key, Value: message.Value,
		Time: message.Timestamp.UnixMilli(),
	}
	for _, header := range message.Headers {
		made.Headers = append(made.Headers, scenario.Header{Name: string(header.Key), Value: header.Value})
	}
	return made
}
