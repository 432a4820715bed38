// Package wire carries frames between a host and its interpreter worker, and bounds what they may hold.
//
// A frame is a big-endian uint32 length, one kind byte and a CBOR body. Every cap is checked before memory is taken.
// A frame that decodes says nothing about whether its sender may be believed: the host must check each claim in it.
package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/fxamacker/cbor/v2"
)

// Version is raised whenever a message changes; both ends must have the same.
const Version = 3

// MaxFrame bounds one frame, in bytes, in both directions.
const MaxFrame = 4 << 20

// maxItems bounds the CBOR items of a frame: the value budget (50k nodes, a key beside each) and room for the envelope.
// Without it 4 MiB of one-byte items would decode to more than 64 MiB.
const maxItems = 2*MaxNodes + 16_384

var (
	// ErrTooBig is returned by Send for a message over MaxFrame. Nothing has been sent.
	ErrTooBig = errors.New("wire: frame over 4 MiB")
	// ErrMalformed is returned for a frame that no honest peer sends.
	ErrMalformed = errors.New("wire: malformed frame")
)

// A Frame is one frame as it arrived: its kind is known, its body is not yet decoded.
type Frame struct {
	Kind Kind
	body []byte
}

// Conn sends and receives frames. It is not safe for concurrent use by two senders or two receivers.
type Conn struct{ rw io.ReadWriter }

// NewConn returns a Conn over rw, which the caller still owns and closes.
func NewConn(rw io.ReadWriter) *Conn { return &Conn{rw: rw} }

// headSize is the length prefix and the kind byte.
const headSize = 5

// Send writes m as one frame with one Write.
func (c *Conn) Send(m Message) error {
	var b bytes.Buffer
	b.Write(make([]byte, headSize))
	if err := encoder.NewEncoder(&b).Encode(m); err != nil {
		return fmt.Errorf("wire: encode %s: %w", m.kind(), err)
	}
	frame := b.Bytes()
	n := len(frame) - headSize + 1
	if n > MaxFrame {
		return ErrTooBig
	}
	binary.BigEndian.PutUint32(frame, uint32(n))
	frame[headSize-1] = byte(m.kind())
	_, err := c.rw.Write(frame)
	return err
}

// Receive reads one frame. io.EOF means that the peer closed between frames.
func (c *Conn) Receive() (Frame, error) {
	var head [headSize]byte
	if _, err := io.ReadFull(c.rw, head[:]); err != nil {
		return Frame{}, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n < 1 || n > MaxFrame {
		return Frame{}, fmt.Errorf("%w: length %d, want 1 to %d", ErrMalformed, n, MaxFrame)
	}
	body := make([]byte, n-1)
	if _, err := io.ReadFull(c.rw, body); err != nil {
		return Frame{}, fmt.Errorf("wire: frame cut short: %w", io.ErrUnexpectedEOF)
	}
	return Frame{Kind: Kind(head[headSize-1]), body: body}, nil
}

// Decode fills m from f. Every error is ErrMalformed: a wrong kind, an unknown field, a duplicate key, too many items.
func (f Frame) Decode(m Message) error {
	if f.Kind != m.kind() {
		return fmt.Errorf("%w: got %s, want %s", ErrMalformed, f.Kind, m.kind())
	}
	if n := countItems(f.body); n > maxItems {
		return fmt.Errorf("%w: more than %d items", ErrMalformed, maxItems)
	}
	if err := decoder.Unmarshal(f.body, m); err != nil {
		return fmt.Errorf("%w: %s: %v", ErrMalformed, f.Kind, err)
	}
	return nil
}

// countItems counts the CBOR item heads of b and stops past maxItems. It does not validate: the decoder does, and stops
// at the same byte as a truncated or reserved head here.
func countItems(b []byte) int {
	n := 0
	for len(b) > 0 && n <= maxItems {
		n++
		major, info := b[0]>>5, b[0]&31
		width := 0
		if info >= 24 && info <= 27 {
			width = 1 << (info - 24)
		}
		if len(b) < 1+width {
			break
		}
		arg := uint64(info)
		if width > 0 {
			arg = 0
			for _, c := range b[1 : 1+width] {
				arg = arg<<8 | uint64(c)
			}
		}
		b = b[1+width:]
		if major == 2 || major == 3 { // byte and text strings carry arg bytes, not items
			if arg > uint64(len(b)) {
				break
			}
			b = b[arg:]
		}
	}
	return n
}

var (
	encoder = must(cbor.EncOptions{Sort: cbor.SortBytewiseLexical, IndefLength: cbor.IndefLengthForbidden}.EncMode())
	decoder = must(cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		MaxNestedLevels:   MaxDepth + 8, // the envelope's own levels
		MaxArrayElements:  MaxNodes,
		MaxMapPairs:       MaxNodes,
		IndefLength:       cbor.IndefLengthForbidden,
		IntDec:            cbor.IntDecConvertSignedOrBigInt,
		BigIntDec:         cbor.BigIntDecodePointer,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		DefaultMapType:    reflect.TypeFor[map[string]any](),
		UTF8:              cbor.UTF8RejectInvalid,
		NaN:               cbor.NaNDecodeForbidden,
		Inf:               cbor.InfDecodeForbidden,
	}.DecMode())
)

// must is for options that are constants of this file: an error is a fault of the program, not of its input.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
