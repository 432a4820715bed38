package worker

import "testing"

func TestTheCauseIsReadFromTheStatus(t *testing.T) {
	const limit = 256 << 20
	tests := []struct {
		name string
		d    Death
		want Cause
	}{
		{"killed by us", Death{Killed: true, Signal: 9, MaxRSS: limit}, CauseKilled},
		{"forbidden call", Death{Signal: 31, BadCall: true}, CauseSandbox},
		{"processor time", Death{Signal: 24}, CauseCPU},
		{"processor time in a namespace", Death{Code: 4}, CauseCPU},
		{"kernel out of memory", Death{Signal: 9, MaxRSS: limit}, CauseMemory},
		{"killed by another", Death{Signal: 9}, CauseCrash},
		{"fault at the limit", Death{Signal: 11, MaxRSS: limit}, CauseMemory},
		{"abort at the limit", Death{Signal: 6, MaxRSS: limit}, CauseMemory},
		{"fault far from it", Death{Signal: 11}, CauseCrash},
		{"terminated", Death{Signal: 15, MaxRSS: limit}, CauseCrash},
		{"runtime out of memory", Death{Code: 2, Stderr: "fatal error: runtime: out of memory"}, CauseMemory},
		{"runtime stack", Death{Code: 2, Stderr: "runtime: goroutine stack exceeds 67108864-byte limit"}, CauseMemory},
		{"collector fault", Death{Code: 2, Stderr: "SIGSEGV: segmentation violation\n\ngoroutine 0 gp=0x1"}, CauseMemory},
		{"other fault at the limit", Death{Code: 2, Stderr: "SIGSEGV", MaxRSS: limit}, CauseMemory},
		{"other fault", Death{Code: 2, Stderr: "SIGSEGV\ngoroutine 7"}, CauseCrash},
		{"panic", Death{Code: 2, Stderr: "panic: bug"}, CauseCrash},
		{"words without the status", Death{Code: 1, Stderr: "out of memory", MaxRSS: limit}, CauseCrash},
		{"nothing known", Death{}, CauseCrash},
	}
	for _, tt := range tests {
		if got := tt.d.Cause(limit); got != tt.want {
			t.Errorf("%s: got cause %d, want %d", tt.name, got, tt.want)
		}
	}
}
