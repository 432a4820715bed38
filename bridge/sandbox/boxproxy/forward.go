package boxproxy

import (
	"io"
	"net"
	"sync"
)

// Forward listens on address, calls ready, and passes connections on to the proxy at socket. It returns only with an error.
func Forward(address, socket string, ready func() error) error {
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := ready(); err != nil {
		return err
	}
	room := make(chan struct{}, maxConns)
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		room <- struct{}{}
		go func() { // ends with the connection, or with the box
			defer func() { <-room }()
			defer conn.Close()
			if host, err := net.Dial("unix", socket); err == nil {
				defer host.Close()
				pass(conn, host)
			}
		}()
	}
}

// pass copies both ways until both sides have ended. The host's side has the time limits.
func pass(a, b net.Conn) {
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			_, err := io.Copy(way[0], way[1])
			if half, ok := way[0].(interface{ CloseWrite() error }); ok && err == nil {
				_ = half.CloseWrite() // it may be gone
				return
			}
			way[0].Close()
			way[1].Close()
		})
	}
	both.Wait()
}
