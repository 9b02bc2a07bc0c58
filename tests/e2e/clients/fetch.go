// SPDX-License-Identifier: GPL-2.0-only

// Fetches a URL with Go's own resolver and client; `serve` first makes a listener of its own and
// dials it, which newer Go versions do with MPTCP.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

func localEcho() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		if conn, err := listener.Accept(); err == nil {
			conn.Write([]byte("hello"))
			conn.Close()
		}
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return err
	}
	text, err := io.ReadAll(conn)
	fmt.Println("local", string(text))
	return err
}

func main() {
	if err := localEcho(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	reply, err := http.Get(os.Args[1])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	text, _ := io.ReadAll(reply.Body)
	fmt.Println(reply.StatusCode, string(text), reply.Proto)
}
