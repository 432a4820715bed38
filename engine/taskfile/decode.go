package taskfile

import (
	"encoding"
	"reflect"
	"strings"
	"time"

	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
	"github.com/codeact-dev/codeact/policy"
)

// A defaulter sets what a file need not write. It runs before the file is read,
// also for a section that the file does not have.
type defaulter interface{ defaults() }

// A shortForm may stand in the file as something else than a mapping.
type shortForm interface{ short(*strictyaml.Node) }

// A decoder fills structs whose fields are tagged with the keys of the file:
// `yaml:"key"`, with ",amount" for numbers with a unit and ",seconds" for
// durations written as a number. It runs before Check, which reports values of the
// wrong kind or outside the schema; they are skipped here. What no schema can
// judge, as a duration past the range, is a fault here.
type decoder struct{ src *strictyaml.Source }

// fill sets the defaults of v and then what n has; n may be nil.
func (d decoder) fill(v reflect.Value, n *strictyaml.Node) {
	if x, ok := v.Addr().Interface().(defaulter); ok {
		x.defaults()
	}
	d.set(v, n, "")
}

func (d decoder) set(v reflect.Value, n *strictyaml.Node, form string) {
	if n == nil {
		if v.Kind() == reflect.Struct {
			d.fields(v, nil)
		}
		return
	}
	if done, err := special(v.Addr().Interface(), n, form); done {
		if err != nil && !d.src.Reported(n) {
			d.src.Addf(n, "%v", err)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.fields(v, n)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.fill(v.Elem(), n)
	case reflect.Slice:
		for _, item := range n.Items {
			e := reflect.New(v.Type().Elem()).Elem()
			d.fill(e, item)
			v.Set(reflect.Append(v, e))
		}
	case reflect.Map:
		d.mapping(v, n)
	default:
		scalar(v, n)
	}
}

func (d decoder) fields(v reflect.Value, n *strictyaml.Node) {
	if x, ok := v.Addr().Interface().(shortForm); ok && n != nil {
		x.short(n)
	}
	for i := range v.NumField() {
		tag, ok := v.Type().Field(i).Tag.Lookup("yaml")
		if !ok || tag == "-" {
			continue
		}
		key, form, _ := strings.Cut(tag, ",")
		field, at := v.Field(i), n.At(key)
		if x, ok := field.Addr().Interface().(defaulter); ok {
			x.defaults()
		}
		if at != nil && field.Kind() == reflect.Slice {
			field.SetZero() // what is written replaces a default list
		}
		d.set(field, at, form)
	}
}

func (d decoder) mapping(v reflect.Value, n *strictyaml.Node) {
	if n.Kind != strictyaml.Map {
		return
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(n.Fields)))
	for _, f := range n.Fields {
		e := reflect.New(v.Type().Elem()).Elem()
		d.fill(e, f.Value)
		v.SetMapIndex(reflect.ValueOf(f.Key.Text), e)
	}
}

// special sets the types that are written in a form of their own, and reports
// whether p is one.
func special(p any, n *strictyaml.Node, form string) (done bool, err error) {
	switch p := p.(type) {
	case **strictyaml.Node:
		*p = n
	case *any:
		*p = n.Value()
	case *policy.Flag:
		*p, _ = policy.ParseFlag(n.Text) // the schema lists the names
	case *policy.Tier:
		if n.Kind == strictyaml.Int {
			*p, _ = policy.TierOf(int(n.Int)) // the schema lists the numbers
		}
	case *time.Duration:
		err = duration(p, n, form)
	case *int64:
		if form != "amount" || n.Kind != strictyaml.String {
			return false, nil
		}
		*p, err = ParseAmount(n.Text)
	case *policy.Capabilities:
		*p = policy.Declare()
		for _, item := range n.Items {
			flag, _ := policy.ParseFlag(item.Text) // the schema lists the names
			*p = p.Union(policy.Declare(flag))
		}
	case encoding.TextUnmarshaler:
		if n.Kind == strictyaml.String {
			err = p.UnmarshalText([]byte(n.Text))
		}
	default:
		return false, nil
	}
	return true, err
}

func duration(p *time.Duration, n *strictyaml.Node, form string) (err error) {
	switch {
	case form == "seconds" && n.Kind == strictyaml.Int:
		*p = time.Duration(min(n.Int, maxSeconds)) * time.Second
	case form == "seconds" && n.Kind == strictyaml.Float:
		*p = time.Duration(min(n.Float, maxSeconds) * float64(time.Second))
	case form == "" && n.Kind == strictyaml.String:
		*p, err = ParseDuration(n.Text)
	}
	return err
}

// maxSeconds keeps a number that the schema refuses anyway from overflowing.
const maxSeconds = 1e9

func scalar(v reflect.Value, n *strictyaml.Node) {
	switch {
	case v.Kind() == reflect.String && n.Kind == strictyaml.String:
		v.SetString(n.Text)
	case v.Kind() == reflect.Bool && n.Kind == strictyaml.Bool:
		v.SetBool(n.Bool)
	case v.CanInt() && n.Kind == strictyaml.Int:
		v.SetInt(n.Int)
	case v.CanFloat() && n.Kind == strictyaml.Int:
		v.SetFloat(float64(n.Int))
	case v.CanFloat() && n.Kind == strictyaml.Float:
		v.SetFloat(n.Float)
	}
}
