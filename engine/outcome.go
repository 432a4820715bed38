package engine

import (
	"encoding/json"
	"errors"
	"fmt"
)

// A Status says how a run stands.
type Status string

// The statuses of a run.
const (
	Completed             Status = "completed"
	CompletedWithRefusals Status = "completed_with_refusals"
	Failed                Status = "failed"
	LimitReached          Status = "limit"
	Paused                Status = "paused"
	RefusedToStart        Status = "refused_to_start"
	Cancelled             Status = "cancelled"
)

// ExitCode is the code of a process that ran this and nothing else.
func (s Status) ExitCode() int {
	switch s {
	case Completed:
		return 0
	case CompletedWithRefusals:
		return 3
	case LimitReached:
		return 5
	case RefusedToStart:
		return 6
	case Paused:
		return 8
	case Cancelled:
		return 130
	}
	return 1
}

// An Outcome is the report of a run; its JSON is the document of run --json.
type Outcome struct {
	RunID        string           `json:"run_id"`
	Status       Status           `json:"status"`
	ExitCode     int              `json:"exit_code"`
	Output       json.RawMessage  `json:"output"` // what final was given; null without one
	Reason       string           `json:"reason"`
	Steps        int              `json:"steps"`
	Trace        string           `json:"trace"`
	BlockedSends int              `json:"blocked_sends"`
	Denied       []Denial         `json:"denied"`
	Approvals    []ApprovalReport `json:"approvals"`
	Taint        TaintReport      `json:"taint"`
	Calls        []CallReport     `json:"calls"`
	Usage        Usage            `json:"usage"`
	Lessons      []LessonReport   `json:"lessons"`
}

// A TaintReport says what the conversation holds at its end.
type TaintReport struct {
	Private   bool `json:"private"`
	Untrusted bool `json:"untrusted"`
	Unvouched bool `json:"unvouched"`
}

// A LessonReport is a lesson that a run proposed.
type LessonReport struct {
	ID    string `json:"id"`
	State string `json:"state"`
}

// ErrLimit is wrapped by the error of a run that a limit ended.
var ErrLimit = errors.New("limit reached")

// A LimitError says which limit. It wraps ErrLimit.
type LimitError struct {
	Limit string // as the task file names it, "identicalCalls"
	Of    string
	Why   string
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("engine: limit %s (%s) reached: %s", e.Limit, e.Of, e.Why)
}

func (e *LimitError) Unwrap() error { return ErrLimit }
