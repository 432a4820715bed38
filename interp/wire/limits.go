package wire

import (
	"fmt"
	"time"
)

// Limits bounds one block and its worker. Zero fields are the defaults, which stand beside them; no value means "no limit".
type Limits struct {
	Source  int           `cbor:"1,keyasint"` // bytes of a block; 0 means 64 KiB, at most 256 KiB
	Nesting int           `cbor:"2,keyasint"` // levels of the syntax tree; 0 means 100, at most 500
	Steps   uint64        `cbor:"3,keyasint"` // interpreter steps a block; 0 means 20 million
	CPU     time.Duration `cbor:"4,keyasint"` // processor time a block, whole seconds, rounded up; 0 means 5 s, at most 60 s
	Wall    time.Duration `cbor:"5,keyasint"` // elapsed time a block without its tool calls; 0 means 15 s, at most 10 min
	Memory  int64         `cbor:"6,keyasint"` // bytes of worker data; 0 means 256 MiB, from 64 MiB to 4 GiB

	PrintBytes  int `cbor:"7,keyasint"`  // printed text a block; 0 means 64 KiB, at most 512 KiB
	PrintLines  int `cbor:"8,keyasint"`  // printed lines a block; 0 means 1,000, at most 100,000
	ErrorBytes  int `cbor:"9,keyasint"`  // text of one error; 0 means 4 KiB, from 256 B to 4 KiB
	ArgBytes    int `cbor:"10,keyasint"` // arguments of one call; 0 means 256 KiB, at most 1 MiB
	ResultBytes int `cbor:"11,keyasint"` // result of one call; 0 means 1 MiB, at most 2 MiB
	FinalBytes  int `cbor:"12,keyasint"` // value of final, and of a last expression; 0 means 256 KiB, at most 1 MiB
}

// bound is one row of the limits table: the field, its default and its allowed range.
type bound[T int | int64 | uint64 | time.Duration] struct {
	name          string
	field         *T
	zero, low, hi T
}

// settle puts the default into a zero field, or says what is wrong with the field.
func (b bound[T]) settle() error {
	if *b.field == 0 {
		*b.field = b.zero
	}
	if *b.field < b.low || *b.field > b.hi {
		return fmt.Errorf("limits: %s is %v, want %v to %v (0 is the default, %v)", b.name, *b.field, b.low, b.hi, b.zero)
	}
	return nil
}

// WithDefaults returns l with every zero field set, and every fault of the other fields.
func (l Limits) WithDefaults() (Limits, []error) {
	const kib, mib = 1 << 10, 1 << 20
	rows := []interface{ settle() error }{
		bound[int]{"Source", &l.Source, 64 * kib, 1, 256 * kib},
		bound[int]{"Nesting", &l.Nesting, 100, 1, 500},
		bound[uint64]{"Steps", &l.Steps, 20_000_000, 1, 1 << 62},
		bound[time.Duration]{"CPU", &l.CPU, 5 * time.Second, time.Millisecond, time.Minute},
		bound[time.Duration]{"Wall", &l.Wall, 15 * time.Second, time.Millisecond, 10 * time.Minute},
		bound[int64]{"Memory", &l.Memory, 256 * mib, 64 * mib, 4096 * mib},
		bound[int]{"PrintBytes", &l.PrintBytes, 64 * kib, 1, 512 * kib},
		bound[int]{"PrintLines", &l.PrintLines, 1_000, 1, 100_000},
		bound[int]{"ErrorBytes", &l.ErrorBytes, 4 * kib, 256, 4 * kib},
		bound[int]{"ArgBytes", &l.ArgBytes, 256 * kib, 1, mib},
		bound[int]{"ResultBytes", &l.ResultBytes, mib, 1, 2 * mib},
		bound[int]{"FinalBytes", &l.FinalBytes, 256 * kib, 1, mib},
	}
	var faults []error
	for _, r := range rows {
		if err := r.settle(); err != nil {
			faults = append(faults, err)
		}
	}
	return l, faults
}
