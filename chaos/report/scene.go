package report

import (
	"image/color"
	"strings"
	"sync"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
)

// A scene is a drawing as data: shapes in the order in which they are painted,
// in pixels from the upper left corner. It is written as SVG or as PNG.
type scene struct {
	width, height float64
	about         string // what the picture shows, in a sentence
	shapes        []shape
}

// A shape is one thing that is painted.
type shape struct {
	form   form
	class  string // what it stands for
	title  string // what a pointer on it shows; also of a group
	points []point
	fill   color.NRGBA // of an area; of words
	edge   color.NRGBA
	thick  float64 // of the edge
	text   string
	size   float64 // of the text
	bold   bool
}

type point struct{ x, y float64 }

type form int

const (
	box   form = iota // points: two corners
	area              // a polygon
	line              // through all points
	words             // points: the left end of the base line
	open              // a group begins; class is its id
	shut              // it ends
)

func (s *scene) add(one shape) { s.shapes = append(s.shapes, one) }

func (s *scene) begin(id, title string) { s.add(shape{form: open, class: id, title: title}) }
func (s *scene) end()                   { s.add(shape{form: shut}) }

func (s *scene) box(class string, x, y, w, h float64, fill, edge color.NRGBA, title string) {
	s.add(shape{form: box, class: class, title: title, points: []point{{x, y}, {x + w, y + h}}, fill: fill, edge: edge, thick: 1})
}

func (s *scene) line(class string, c color.NRGBA, thick float64, points ...point) {
	s.add(shape{form: line, class: class, points: points, edge: c, thick: thick})
}

// text writes s from x on, on the base line y.
func (s *scene) text(class string, x, y float64, t string, size float64, bold bool, c color.NRGBA) {
	t = clean(t)
	if t == "" {
		return
	}
	s.add(shape{form: words, class: class, points: []point{{x, y}}, text: t, size: size, bold: bold, fill: c})
}

// hatch draws slanted lines over a box.
func (s *scene) hatch(class string, x, y, w, h, gap float64, c color.NRGBA) {
	for left := x - h; left < x+w; left += gap {
		from, to := point{left, y + h}, point{left + h, y}
		if from.x < x {
			from = point{x, y + h - (x - left)}
		}
		if to.x > x+w {
			to = point{x + w, y + left + h - x - w}
		}
		s.line(class, c, 1, from, to)
	}
}

// fonts are Liberation Sans, which is as wide as Arial and Helvetica: what was
// measured here fits also where a viewer has only those.
var fonts = sync.OnceValue(func() *font.Cache { return font.NewCache(liberation.Collection()) })

func face(size float64, bold bool) font.Face {
	f := font.Font{Typeface: "Liberation", Variant: "Sans"}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return fonts().Lookup(f, font.Length(size))
}

// wide returns how wide t is.
func wide(t string, size float64, bold bool) float64 {
	f := face(size, bold)
	return f.Width(clean(t)).Points()
}

// fitting returns t, shortened to a width; "" if next to nothing of it fits.
func fitting(t string, width, size float64, bold bool) string {
	t = clean(t)
	if wide(t, size, bold) <= width {
		return t
	}
	r := []rune(t)
	for n := len(r) - 1; n >= 4; n-- {
		if s := strings.TrimRight(string(r[:n]), " ") + "..."; wide(s, size, bold) <= width {
			return s
		}
	}
	return ""
}

// wrapped returns t in lines of at most width.
func wrapped(t string, width, size float64, bold bool) []string {
	var lines []string
	current := ""
	for _, word := range strings.Fields(clean(t)) {
		longer := word
		if current != "" {
			longer = current + " " + word
		}
		if current != "" && wide(longer, size, bold) > width {
			lines = append(lines, current)
			longer = word
		}
		current = longer
	}
	if current != "" {
		lines = append(lines, current)
	}
	return lines
}
