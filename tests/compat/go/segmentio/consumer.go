package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"compat/scenario"

	"github.com/segmentio/kafka-go"
)

func (c *client) Consumer(ctx context.Context, how scenario.Reading) (scenario.Consumer, error) {
	made := &consumer{
		Inbox: make(scenario.Inbox, 1000), client: c, how: how, owned: map[int32]bool{}, read: map[int]int64{},
		readers: map[int32]*kafka.Reader{},
	}
	made.running, made.stop = context.WithCancel(context.Background())
	if how.Group != "" {
		return made, made.join()
	}
	count, err := c.Admin().Partitions(ctx, how.Topic)
	for partition := range count {
		made.follow(made.running, partition, kafka.FirstOffset)
	}
	return made, err
}

// consumer reads all partitions of a topic, or those that its group gives it.
type consumer struct {
	scenario.Inbox
	client  *client
	how     scenario.Reading
	group   *kafka.ConsumerGroup
	running context.Context
	stop    context.CancelFunc
	reading sync.WaitGroup

	mutex   sync.Mutex
	turn    *kafka.Generation
	owned   map[int32]bool
	revoked []int32
	read    map[int]int64
	readers map[int32]*kafka.Reader
}

func (c *consumer) join() error {
	var err error
	c.group, err = kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID:                c.how.Group,
		Brokers:           []string{c.client.bootstrap},
		Topics:            []string{c.how.Topic},
		HeartbeatInterval: 100 * time.Millisecond,
		SessionTimeout:    10 * time.Second,
		RebalanceTimeout:  10 * time.Second,
		JoinGroupBackoff:  100 * time.Millisecond,
		StartOffset:       kafka.FirstOffset,
	})
	if err != nil {
		return err
	}
	c.reading.Go(func() {
		for c.running.Err() == nil {
			if turn, err := c.group.Next(c.running); err == nil {
				c.take(turn)
			}
		}
	})
	return nil
}

func (c *consumer) take(turn *kafka.Generation) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for partition := range c.owned {
		c.revoked = append(c.revoked, partition)
	}
	c.turn, c.owned = turn, map[int32]bool{}
	for _, given := range turn.Assignments[c.how.Topic] {
		c.owned[int32(given.ID)] = true
		turn.Start(func(ctx context.Context) { c.pump(ctx, c.reader(given.ID, given.Offset)) })
	}
}

func (c *consumer) follow(ctx context.Context, partition int, offset int64) {
	reader := c.reader(partition, offset)
	c.readers[int32(partition)] = reader
	c.reading.Go(func() { c.pump(ctx, reader) })
}

func (c *consumer) reader(partition int, offset int64) *kafka.Reader {
	settings := kafka.ReaderConfig{
		Brokers: []string{c.client.bootstrap}, Topic: c.how.Topic, Partition: partition, MinBytes: 1, MaxBytes: 10e6,
		MaxWait: 50 * time.Millisecond, ReadBackoffMin: 10 * time.Millisecond, ReadBackoffMax: 50 * time.Millisecond,
	}
	if c.how.Committed {
		settings.IsolationLevel = kafka.ReadCommitted
	}
	reader := kafka.NewReader(settings)
	reader.SetOffset(offset)
	return reader
}

func (c *consumer) pump(ctx context.Context, reader *kafka.Reader) {
	defer reader.Close()
	for ctx.Err() == nil {
		message, err := reader.FetchMessage(ctx)
		if err != nil {
			continue
		}
		made := scenario.Record{
			Partition: int32(message.Partition), Offset: message.Offset, Key: message.Key, Value: message.Value,
			Time: message.Time.UnixMilli(),
		}
		for _, header := range message.Headers {
			made.Headers = append(made.Headers, scenario.Header{Name: header.Key, Value: header.Value})
		}
		c.Inbox <- made
	}
}

func (c *consumer) Poll(ctx context.Context) ([]scenario.Record, error) {
	got, err := c.Inbox.Poll(ctx)
	for _, record := range got {
		c.read[int(record.Partition)] = record.Offset + 1
	}
	return got, err
}

func (c *consumer) Owned() []int32 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var all []int32
	for partition := range c.owned {
		all = append(all, partition)
	}
	return all
}

func (c *consumer) Revoked() []int32 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return append([]int32(nil), c.revoked...)
}

func (c *consumer) Commit(context.Context) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.turn.CommitOffsets(map[string]map[int]int64{c.how.Topic: c.read})
}

func (c *consumer) Seek(_ context.Context, partition int32, offset int64) error {
	return c.readers[partition].SetOffset(offset)
}

func (c *consumer) SeekTime(ctx context.Context, ms int64) error {
	var failed error
	for _, reader := range c.readers {
		failed = errors.Join(failed, reader.SetOffsetAt(ctx, time.UnixMilli(ms)))
	}
	return failed
}

func (c *consumer) Pause(int32)  {}
func (c *consumer) Resume(int32) {}

func (c *consumer) Close() {
	c.stop()
	if c.group != nil {
		c.group.Close()
	}
	c.reading.Wait()
}
