package scenario

import (
	"context"
	"time"
)

// Moment is how long a poll waits for something to come.
const Moment = 200 * time.Millisecond

// Inbox is Poll for clients that push records rather than being asked for them.
type Inbox chan Record

func (i Inbox) Poll(ctx context.Context) ([]Record, error) {
	var got []Record
	select {
	case record := <-i:
		got = append(got, record)
	case <-time.After(Moment):
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for {
		select {
		case record := <-i:
			got = append(got, record)
		case <-time.After(5 * time.Millisecond):
			return got, nil
		}
	}
}
