// Package scenario asks a Kafka client the same things whichever client it is. What they are is said in
// scenarios.py; here is how, in terms of the few things that each client's program knows to do.
package scenario

import "context"

type Header struct {
	Name  string
	Value []byte
}

// Record is one to be written or one that was read.
type Record struct {
	Partition  int32
	Offset     int64
	Key, Value []byte
	Headers    []Header
	Time       int64 // ms; 0: now
}

type Writing struct {
	Acks          string // "0", "1" or "all"
	Codec         string // as Kafka names it
	ByKey         bool   // the client chooses partitions
	Idempotent    bool
	Transactional string // a transactional id
}

type Reading struct {
	Topic     string
	Group     string // empty: all partitions, without a group
	Instance  string // a static member's name
	Protocol  string // "eager", "cooperative" or "modern"
	Committed bool   // read_committed
}

type Producer interface {
	// Send writes records, waits until they are acknowledged, and gives their partitions and offsets.
	Send(ctx context.Context, topic string, records ...Record) ([]Record, error)
	Begin(ctx context.Context) error
	Commit(ctx context.Context) error
	Abort(ctx context.Context) error
	Close()
}

type Consumer interface {
	// Poll gives what came within a moment, maybe nothing.
	Poll(ctx context.Context) ([]Record, error)
	Owned() []int32
	Revoked() []int32 // every partition that was ever taken away
	Commit(ctx context.Context) error
	Seek(ctx context.Context, partition int32, offset int64) error
	SeekTime(ctx context.Context, ms int64) error
	Pause(partition int32)
	Resume(partition int32)
	Close()
}

type Admin interface {
	Create(ctx context.Context, topic string, partitions int, configs map[string]string) error
	Delete(ctx context.Context, topic string) error
	Grow(ctx context.Context, topic string, partitions int) error
	Partitions(ctx context.Context, topic string) (int, error) // 0: there is no such topic
	Configs(ctx context.Context, topic string) (map[string]string, error)
	SetConfig(ctx context.Context, topic, name, value string) error
	Offset(ctx context.Context, topic string, partition int32, time int64) (int64, error) // -2 first, -1 next
	Groups(ctx context.Context) ([]string, error)
	Group(ctx context.Context, group string) (state string, members int, err error)
	DeleteGroup(ctx context.Context, group string) error
	SetGroupOffset(ctx context.Context, group, topic string, partition int32, offset int64) error
	GroupOffset(ctx context.Context, group, topic string, partition int32) (int64, error)
	DeleteRecords(ctx context.Context, topic string, partition int32, before int64) error
	LogDirs(ctx context.Context, topic string) (bytes int64, err error)
}

// ModernAdmin is asked of clients that speak the group protocol of KIP-848.
type ModernAdmin interface {
	ModernGroups(ctx context.Context) ([]string, error)
}

type Client interface {
	Admin() Admin
	Producer(ctx context.Context, how Writing) (Producer, error)
	Consumer(ctx context.Context, how Reading) (Consumer, error)
	// Transform copies all that group has not read of a topic to another in one transaction, offsets included.
	Transform(ctx context.Context, from, to, group, transactional string, commit bool) error
	// NotApplicable says, by scenario, why the client cannot be asked.
	NotApplicable() map[string]string
}
