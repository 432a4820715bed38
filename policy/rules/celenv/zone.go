package celenv

import (
	"fmt"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // a rule names time zones, and the machine may have none

	"cel.dev/cel-go/cel"
	celenv "cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// zones holds every time zone that a rule has named. CEL's own accessors read the
// zone from disk at each call, which was more than half of the time of the test
// fixture. A zone's name decides its value, so that sharing them shows nowhere; and
// there are some 600, so that the map stays small.
var zones sync.Map // of string to *time.Location

// zone returns a time zone by its name, or by an offset as "+05:30".
func zone(name string) (*time.Location, error) {
	if l, ok := zones.Load(name); ok {
		return l.(*time.Location), nil
	}
	if strings.HasPrefix(name, "+") || strings.HasPrefix(name, "-") {
		return offsetZone(name)
	}
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("time zone %q: name one, as \"Europe/Berlin\"; the machine's own would differ from host to host", name)
	}
	l, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("time zone %q is not known", name)
	}
	zones.Store(name, l)
	return l, nil
}

func offsetZone(name string) (*time.Location, error) {
	t, err := time.Parse("-07:00", name)
	if err != nil {
		return nil, fmt.Errorf("time zone %q: want an offset as \"+05:30\"", name)
	}
	_, offset := t.Zone()
	return time.FixedZone(name, offset), nil
}

// A zoned is one accessor of a timestamp with a time zone.
type zoned struct {
	name, overload string
	get            func(time.Time) int
}

var zonedAccessors = []zoned{
	{overloads.TimeGetFullYear, overloads.TimestampToYearWithTz, time.Time.Year},
	{overloads.TimeGetMonth, overloads.TimestampToMonthWithTz, func(t time.Time) int { return int(t.Month()) - 1 }},
	{overloads.TimeGetDayOfYear, overloads.TimestampToDayOfYearWithTz, func(t time.Time) int { return t.YearDay() - 1 }},
	{overloads.TimeGetDayOfMonth, overloads.TimestampToDayOfMonthZeroBasedWithTz, func(t time.Time) int { return t.Day() - 1 }},
	{overloads.TimeGetDate, overloads.TimestampToDayOfMonthOneBasedWithTz, time.Time.Day},
	{overloads.TimeGetDayOfWeek, overloads.TimestampToDayOfWeekWithTz, func(t time.Time) int { return int(t.Weekday()) }},
	{overloads.TimeGetHours, overloads.TimestampToHoursWithTz, time.Time.Hour},
	{overloads.TimeGetMinutes, overloads.TimestampToMinutesWithTz, time.Time.Minute},
	{overloads.TimeGetSeconds, overloads.TimestampToSecondsWithTz, time.Time.Second},
	{overloads.TimeGetMilliseconds, overloads.TimestampToMillisecondsWithTz, func(t time.Time) int { return t.Nanosecond() / int(time.Millisecond) }},
}

// standardLibrary is CEL's own with our accessors in place of those that read the
// disk.
func standardLibrary() []cel.EnvOption {
	subset := celenv.NewLibrarySubset()
	var opts []cel.EnvOption
	for _, z := range zonedAccessors {
		subset.AddExcludedFunctions(celenv.NewFunction(z.name, &celenv.Overload{ID: z.overload}))
		opts = append(opts, cel.Function(z.name, cel.MemberOverload("codeact_"+z.overload,
			[]*cel.Type{cel.TimestampType, cel.StringType}, cel.IntType, cel.BinaryBinding(z.call))))
	}
	return append([]cel.EnvOption{cel.StdLib(cel.StdLibSubset(subset))}, opts...)
}

func (z zoned) call(ts, name ref.Val) ref.Val {
	l, err := zone(string(name.(types.String)))
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Int(z.get(ts.(types.Timestamp).In(l)))
}
