package taskfile

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/codeact-dev/codeact/spelling"
)

// Limits end a run. A task may set them, a flag may only lower them.
type Limits struct {
	WallTime            time.Duration `yaml:"wallTime"`  // of active running, not of waiting for a person
	Steps               int64         `yaml:"steps"`     // replies of the model
	ToolCalls           int64         `yaml:"toolCalls"` // in the run
	CallsPerStep        int64         `yaml:"callsPerStep"`
	Tokens              int64         `yaml:"tokens,amount"`
	CostUSD             float64       `yaml:"costUsd"`                    // 0 is no limit
	BytesSent           int64         `yaml:"bytesSent,amount"`           // 0 is no limit
	BytesPerDestination int64         `yaml:"bytesPerDestination,amount"` // 0 is no limit
	IdenticalCalls      int64         `yaml:"identicalCalls"`             // same tool and arguments, failing in a row
	OutputBytesPerCall  int64         `yaml:"outputBytesPerCall,amount"`
}

func (l *Limits) defaults() {
	*l = Limits{
		WallTime: 30 * time.Minute, Steps: 40, ToolCalls: 400, CallsPerStep: 50, Tokens: 1_000_000,
		IdenticalCalls: 3, OutputBytesPerCall: 256 << 10,
	}
}

// limitNames are the keys of limits, for messages.
var limitNames = strings.Fields("wallTime steps toolCalls callsPerStep tokens costUsd bytesSent bytesPerDestination identicalCalls outputBytesPerCall")

// Lower sets one limit from "name=value", written as in a task file. Raising it
// is an error, and leaves l as it was.
func (l *Limits) Lower(kv string) error {
	name, value, ok := strings.Cut(kv, "=")
	if !ok {
		return fmt.Errorf("taskfile: limit %q: want NAME=VALUE, as steps=10", kv)
	}
	var err error
	switch name {
	case "wallTime":
		err = lower(&l.WallTime, value, ParseDuration)
	case "steps":
		err = lower(&l.Steps, value, parseCount)
	case "toolCalls":
		err = lower(&l.ToolCalls, value, parseCount)
	case "callsPerStep":
		err = lower(&l.CallsPerStep, value, parseCount)
	case "tokens":
		err = lower(&l.Tokens, value, ParseAmount)
	case "costUsd":
		err = lower(&l.CostUSD, value, parseCost)
	case "bytesSent":
		err = lower(&l.BytesSent, value, ParseAmount)
	case "bytesPerDestination":
		err = lower(&l.BytesPerDestination, value, ParseAmount)
	case "identicalCalls":
		err = lower(&l.IdenticalCalls, value, parseCount)
	case "outputBytesPerCall":
		err = lower(&l.OutputBytesPerCall, value, ParseAmount)
	default:
		err = fmt.Errorf("no such limit: want one of %s%s", strings.Join(limitNames, ", "), spelling.DidYouMean(name, limitNames))
	}
	if err != nil {
		return fmt.Errorf("taskfile: limit %s: %w", name, err)
	}
	return nil
}

// lower takes a limit of 0 for no limit, which every value lowers.
func lower[T cmp.Ordered](limit *T, text string, parse func(string) (T, error)) error {
	var none T
	v, err := parse(text)
	if err != nil {
		return err
	}
	if v <= none {
		return fmt.Errorf("%q: want more than 0", text)
	}
	if *limit != none && v > *limit {
		return fmt.Errorf("%v is above the %v of the task: a flag may only lower it", v, *limit)
	}
	*limit = v
	return nil
}

func parseCount(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q: want a whole number", s)
	}
	return n, nil
}

func parseCost(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v != v || v-v != 0 { // NaN and the infinities are no amount of money
		return 0, fmt.Errorf("%q: want an amount in USD, as 2.50", s)
	}
	return v, nil
}
