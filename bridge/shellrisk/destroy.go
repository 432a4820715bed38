package shellrisk

import (
	"regexp"
	"slices"
	"strings"
)

var (
	makesFilesystems = regexp.MustCompile(`^(?:mkfs|mke2fs|mkswap|newfs|fdisk|sfdisk|cfdisk|gdisk|sgdisk|parted|wipefs|blkdiscard|hdparm|nvme|cryptsetup|lvremove|vgremove|pvremove|zpool|badblocks|flashrom|debugfs)(?:\.\w+)?$`)
	stopsMachine     = set("shutdown reboot halt poweroff init telinit kexec")
)

// destroyer judges programs that delete, overwrite or stop.
func (r *reader) destroyer(c command) bool {
	switch {
	case makesFilesystems.MatchString(c.name):
		r.raise(blocked, "%s changes disks", c.name)
	case stopsMachine[c.name]:
		r.raise(blocked, "%s stops the machine", c.name)
	case c.name == "systemctl":
		r.services(c)
	case slices.Contains([]string{"rm", "rmdir", "unlink", "shred", "srm", "trash", "rimraf"}, c.name):
		r.remove(c)
	case c.name == "mv":
		r.move(c)
	case slices.Contains([]string{"chmod", "chown", "chgrp", "setfacl", "chattr"}, c.name):
		r.rights(c)
	case c.name == "dd":
		r.copyBlocks(c)
	case slices.Contains([]string{"kill", "pkill", "killall", "killall5", "skill"}, c.name):
		r.kill(c)
	default:
		return false
	}
	return true
}

func (r *reader) services(c command) {
	r.raise(high, "systemctl changes services")
	for _, a := range c.args() {
		if stopsMachine[a.text] || slices.Contains([]string{"suspend", "hibernate", "rescue", "emergency", "isolate"}, a.text) {
			r.raise(blocked, "systemctl %s stops the machine", a.text)
		}
	}
}

// move judges mv, which deletes at one place what it writes at another.
func (r *reader) move(c command) {
	r.raise(medium, "mv moves")
	opts, rest := r.writes(c)
	if _, named := value(opts, "-t", "--target-directory"); !named && len(rest) > 0 {
		rest = rest[:len(rest)-1] // the last is where the others go
	}
	for _, w := range rest {
		if w.text != "" && strings.ContainsAny(w.text[:1], "/~$") { // all of a workspace may be moved within it
			r.spare(c, []word{w})
		}
	}
}

func (r *reader) copyBlocks(c command) {
	r.raise(medium, "dd copies")
	for _, a := range c.args() {
		if to, ok := strings.CutPrefix(a.text, "of="); ok {
			r.write(c.name, word{to, strings.TrimPrefix(a.bare, "of="), a.kind})
		} else if a.kind == open {
			r.raise(unparsed, "dd with an operand known only when the line runs")
		}
	}
}

// remove judges programs that delete their operands. The order and spelling of flags do not matter: what is deleted does.
func (r *reader) remove(c command) {
	r.raise(medium, "%s deletes", c.name)
	opts, rest := takes{"ns", "--iterations --size"}.split(c.args(), false)
	for _, w := range rest {
		r.write(c.name, w)
	}
	r.spare(c, rest)
	if has(opts, "-r", "-R", "--recursive", "-d") || slices.ContainsFunc(opts, func(o option) bool { return strings.HasPrefix(o.name, "--r") }) {
		r.raise(high, "%s deletes directories", c.name)
	}
	if slices.ContainsFunc(opts, func(o option) bool { return strings.HasPrefix(o.name, "--no-p") }) {
		r.raise(blocked, "%s without its own guard", c.name)
	}
}

// spare blocks a command that takes away a whole machine, home or workspace.
func (r *reader) spare(c command, targets []word) {
	for _, w := range targets {
		if wholesale(w) {
			r.raise(blocked, "%s takes away all of %s", c.name, strings.ReplaceAll(w.text, "\x00", "$"))
		}
	}
}

// rights judges who may read, write or run files from now on.
func (r *reader) rights(c command) {
	r.raise(medium, "%s changes rights", c.name)
	var opts []option
	var rest []word
	for _, a := range c.args() {
		if a.kind == plain && strings.HasPrefix(a.text, "-") && strings.Trim(a.text, "-rwxXstugoa,=+") == "" && a.text != "-R" && !strings.HasPrefix(a.text, "--") {
			rest = append(rest, a) // a mode such as -w, which is an operand
		} else if strings.HasPrefix(a.text, "-") {
			opts = append(opts, option{name: a.text})
		} else {
			rest = append(rest, a)
		}
	}
	for _, w := range rest[min(1, len(rest)):] {
		r.write(c.name, w)
	}
	recursive := slices.ContainsFunc(opts, func(o option) bool {
		return strings.HasPrefix(o.name, "--rec") || !strings.HasPrefix(o.name, "--") && strings.Contains(o.name, "R")
	})
	if recursive {
		r.raise(high, "%s changes rights of directories", c.name)
		for _, w := range rest[min(1, len(rest)):] {
			if wholesale(w) && w.text != "." && !strings.HasPrefix(w.text, "*") && !strings.HasPrefix(w.text, "./") {
				r.raise(blocked, "%s changes all of %s", c.name, strings.ReplaceAll(w.text, "\x00", "$"))
			}
		}
	}
	if len(rest) > 0 && setsID.MatchString(rest[0].text) || c.name == "chown" || c.name == "chattr" || c.name == "setfacl" {
		r.raise(high, "%s gives rights", c.name)
	}
}

// setsID finds modes by which a program runs with the rights of its owner, or by which everyone may write.
var setsID = regexp.MustCompile(`^0?[2467]\d{3}$|^[ugoa]*[+=][rwxXt]*s|^0?\d?\d?[2367]$|^[ao]*o?[+=][rx]*w|^a\+w`)

func (r *reader) kill(c command) {
	r.raise(medium, "kill ends processes")
	if c.name != "kill" {
		r.raise(high, "%s ends processes by name", c.name)
	}
	if c.name == "killall5" {
		r.raise(blocked, "killall5 ends everything")
	}
	for i, a := range c.args() {
		switch {
		case a.kind == open:
			r.raise(high, "kill ends processes known only when the line runs")
		case a.text == "-1" && (i > 0 || len(c.args()) == 1), a.text == "1", a.text == "0":
			r.raise(blocked, "kill %s ends everything", a.text)
		}
	}
}
