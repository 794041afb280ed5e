package scenario

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

const patience = 25 * time.Second

// Try is one scenario's turn: what it uses is named after it.
type Try struct {
	Client
	Name string
	ctx  context.Context
}

type outcome struct {
	Scenario string  `json:"scenario"`
	Result   string  `json:"result"`
	Detail   string  `json:"detail"`
	Version  string  `json:"version"`
	Seconds  float64 `json:"seconds"`
}

// Main runs the scenarios that the command line names: program bootstrap prefix scenario...
func Main(module string, open func(bootstrap string) Client) {
	bootstrap, prefix, names := os.Args[1], os.Args[2], os.Args[3:]
	client := open(bootstrap)
	reasons := client.NotApplicable()
	for _, name := range names {
		began := time.Now()
		done := outcome{Scenario: name, Result: "passed", Version: version(module)}
		if reason, ok := reasons[name]; ok {
			done.Result, done.Detail = "not applicable", reason
		} else if err := attempt(client, prefix+"-"+name, all[name]); err != nil {
			done.Result, done.Detail = "failed", err.Error()
		}
		done.Seconds = time.Since(began).Seconds()
		say(done)
	}
}

func attempt(client Client, name string, scenario func(*Try)) (err error) {
	if scenario == nil {
		return fmt.Errorf("no such scenario")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	defer func() {
		if problem := recover(); problem != nil {
			failed, ok := problem.(failure)
			if !ok {
				failed = failure(fmt.Sprintf("%v\n%s", problem, debug.Stack()))
			}
			err = fmt.Errorf("%s", string(failed))
		}
	}()
	scenario(&Try{Client: client, Name: name, ctx: ctx})
	return nil
}

// failure ends a scenario: see must and fail.
type failure string

func fail(format string, args ...any) {
	panic(failure(fmt.Sprintf(format, args...)))
}

func (t *Try) must(err error, doing string) {
	if err != nil {
		fail("%s: %v", doing, err)
	}
}

func restart() {
	say(map[string]string{"ask": "restart"})
	bufio.NewReader(os.Stdin).ReadString('\n')
}

func say(what any) {
	line, _ := json.Marshal(what)
	fmt.Println(string(line))
}

func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		if dep.Path == module {
			return dep.Version
		}
	}
	return ""
}
