// console makes the calls that Redpanda Console makes of a cluster, and looks at what it needs of the answers.
//
// It is called as `console bootstrap topic call...` and prints a line for each call: its name, a tab, and what
// was wrong with the answer, if anything. The topic has two partitions and ten records in the first.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

type console struct {
	*kadm.Client
	topic string
}

func main() {
	made, err := kgo.NewClient(kgo.SeedBrokers(os.Args[1]))
	if err != nil {
		panic(err)
	}
	c := console{kadm.NewClient(made), os.Args[2]}
	calls := map[string]func(context.Context) error{
		"versions": c.versions, "metadata": c.metadata, "configs": c.configs, "offsets": c.offsets,
		"groups": c.groups, "log-dirs": c.logDirs, "acls": c.acls, "quotas": c.quotas, "scram": c.scram,
		"reassignments": c.reassignments,
	}
	for _, call := range os.Args[3:] {
		ctx, done := context.WithTimeout(context.Background(), time.Minute)
		said := ""
		if err := calls[call](ctx); err != nil {
			said = strings.Join(strings.Fields(err.Error()), " ")
		}
		done()
		fmt.Printf("%s\t%s\n", call, said)
	}
}

func otherwise(truth bool, format string, values ...any) error {
	if truth {
		return nil
	}
	return fmt.Errorf(format, values...)
}

// The page of brokers says which release each is, and "unknown custom version" where that cannot be told.
func (c console) versions(ctx context.Context) error {
	brokers, err := c.ApiVersions(ctx)
	if err != nil {
		return err
	}
	for _, broker := range brokers {
		if broker.Err != nil {
			return broker.Err
		}
		guess := broker.VersionGuess()
		if strings.Contains(guess, "unknown") {
			return fmt.Errorf("the broker is taken for %q", guess)
		}
	}
	return otherwise(len(brokers) == 1, "there are %d brokers", len(brokers))
}

func (c console) metadata(ctx context.Context) error {
	cluster, err := c.BrokerMetadata(ctx)
	if err != nil {
		return err
	}
	if cluster.Cluster == "" || cluster.Controller != 1 || len(cluster.Brokers) != 1 {
		return fmt.Errorf("the cluster is %+v", cluster)
	}
	topics, err := c.ListTopicsWithInternal(ctx)
	if err != nil {
		return err
	}
	found := topics[c.topic]
	return otherwise(len(found.Partitions) == 2 && found.Err == nil && found.ID != kadm.TopicID{}, "the topic is %+v", found)
}

func (c console) configs(ctx context.Context) error {
	topics, err := c.DescribeTopicConfigs(ctx, c.topic)
	if err != nil {
		return err
	}
	brokers, err := c.DescribeBrokerConfigs(ctx, 1)
	if err != nil {
		return err
	}
	for _, resource := range append(topics, brokers...) {
		if resource.Err != nil || len(resource.Configs) < 15 {
			return fmt.Errorf("%s has %d configs: %v", resource.Name, len(resource.Configs), resource.Err)
		}
	}
	value := "123456"
	changed, err := c.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: &value}}, c.topic)
	if err != nil {
		return err
	}
	return changed[0].Err
}

func (c console) offsets(ctx context.Context) error {
	starts, err := c.ListStartOffsets(ctx, c.topic)
	if err != nil {
		return err
	}
	ends, err := c.ListEndOffsets(ctx, c.topic)
	if err != nil {
		return err
	}
	stable, err := c.ListCommittedOffsets(ctx, c.topic)
	if err != nil {
		return err
	}
	later, err := c.ListOffsetsAfterMilli(ctx, time.Now().Add(time.Hour).UnixMilli(), c.topic)
	if err != nil {
		return err
	}
	told := []int64{starts[c.topic][0].Offset, ends[c.topic][0].Offset, stable[c.topic][0].Offset, later[c.topic][0].Offset}
	return otherwise(fmt.Sprint(told) == "[0 10 10 10]", "the offsets are %v", told)
}

func (c console) groups(ctx context.Context) error {
	offsets := make(kadm.Offsets)
	offsets.AddOffset(c.topic, 0, 4, -1)
	if _, err := c.CommitOffsets(ctx, c.topic, offsets); err != nil {
		return err
	}
	listed, err := c.ListGroups(ctx)
	if err != nil {
		return err
	}
	if _, there := listed[c.topic]; !there {
		return fmt.Errorf("the group is not among %v", listed.Groups())
	}
	described, err := c.DescribeGroups(ctx, c.topic)
	if err != nil {
		return err
	}
	if group := described[c.topic]; group.Err != nil || group.State != "Empty" || group.Coordinator.NodeID != 1 {
		return fmt.Errorf("the group is %+v", group)
	}
	fetched := c.FetchManyOffsets(ctx, c.topic)[c.topic]
	if fetched.Err != nil {
		return fetched.Err
	}
	if told, _ := fetched.Fetched.Lookup(c.topic, 0); told.At != 4 {
		return fmt.Errorf("it has come to %d", told.At)
	}
	lags, err := c.Lag(ctx, c.topic)
	if err != nil {
		return err
	}
	lag := lags[c.topic]
	return otherwise(lag.Lag.Total() == 6, "its lag is %d: %v", lag.Lag.Total(), lag.Error())
}

func (c console) logDirs(ctx context.Context) error {
	all, err := c.DescribeAllLogDirs(ctx, nil)
	if err != nil {
		return err
	}
	dirs := all[1]
	if dirs.Error() != nil {
		return dirs.Error()
	}
	found, there := dirs.LookupPartition(c.topic, 0)
	return otherwise(there && found.Size > 0, "the topic takes up %d bytes", found.Size)
}

func (c console) acls(ctx context.Context) error {
	any := kadm.NewACLs().AnyResource().Allow().Deny().AllowHosts().DenyHosts().Operations().ResourcePatternType(kadm.ACLPatternAny)
	found, err := c.DescribeACLs(ctx, any)
	if err != nil {
		return err
	}
	for _, each := range found {
		if !errors.Is(each.Err, kerr.SecurityDisabled) {
			return fmt.Errorf("not refused as without an authorizer: %v", each.Err)
		}
	}
	return otherwise(len(found) > 0, "nothing was asked")
}

func (c console) quotas(ctx context.Context) error {
	name := c.topic
	entity := kadm.ClientQuotaEntity{{Type: "client-id", Name: &name}}
	entry := kadm.AlterClientQuotaEntry{Entity: entity, Ops: []kadm.AlterClientQuotaOp{{Key: "producer_byte_rate", Value: 1e6}}}
	if _, err := c.AlterClientQuotas(ctx, []kadm.AlterClientQuotaEntry{entry}); err != nil {
		return err
	}
	told, err := c.DescribeClientQuotas(ctx, false, []kadm.DescribeClientQuotaComponent{{Type: "client-id", MatchType: 2}})
	if err != nil {
		return err
	}
	for _, quota := range told {
		if of := quota.Entity[0].Name; of != nil && *of == name {
			return otherwise(quota.Values[0].Value == 1e6, "the quota is %v", quota)
		}
	}
	return fmt.Errorf("the quota is not among %v", told)
}

func (c console) scram(ctx context.Context) error {
	users, err := c.DescribeUserSCRAMs(ctx)
	if err != nil {
		return err
	}
	return otherwise(len(users) == 0, "there are %d users", len(users))
}

func (c console) reassignments(ctx context.Context) error {
	var topics kadm.TopicsSet
	topics.Add(c.topic, 0, 1)
	moving, err := c.ListPartitionReassignments(ctx, topics)
	if err != nil {
		return err
	}
	if len(moving) > 0 {
		return fmt.Errorf("%v is being moved", moving)
	}
	var wanted kadm.AlterPartitionAssignmentsReq
	wanted.Assign(c.topic, 0, []int32{1})
	moved, err := c.AlterPartitionAssignments(ctx, wanted)
	if err != nil {
		return err
	}
	return moved.Error()
}
