package report

import (
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
)

// maxPixels limits a PNG to what programs that show pictures can take.
const maxPixels = 100_000_000

// writePNG writes s to w, scale times as large.
func (s *scene) writePNG(w io.Writer, scale float64) error {
	if pixels := s.width * s.height * scale * scale; !(scale > 0 && pixels <= maxPixels) {
		return fmt.Errorf("report: a picture of %.0f x %.0f pixels %v times as large, want more than nothing and at most %d pixels",
			s.width, s.height, scale, maxPixels)
	}
	canvas := vgimg.NewWith(
		vgimg.UseWH(vg.Length(s.width), vg.Length(s.height)),
		vgimg.UseDPI(int(72*scale)),
		vgimg.UseBackgroundColor(color.White))
	for i := range s.shapes {
		s.shapes[i].paint(canvas, s.height)
	}
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

// paint paints s on c, whose origin is below.
func (s *shape) paint(c vg.Canvas, height float64) {
	at := func(p point) vg.Point { return vg.Point{X: vg.Length(p.x), Y: vg.Length(height - p.y)} }
	points := s.points
	switch s.form {
	case open, shut:
		return
	case words:
		c.SetColor(s.fill)
		c.FillString(face(s.size, s.bold), at(points[0]), s.text)
		return
	case box:
		a, b := points[0], points[1]
		points = []point{a, {b.x, a.y}, b, {a.x, b.y}}
	}
	var path vg.Path
	for i, p := range points {
		if i == 0 {
			path.Move(at(p))
		} else {
			path.Line(at(p))
		}
	}
	if s.form != line {
		path.Close()
		if s.fill.A > 0 {
			c.SetColor(s.fill)
			c.Fill(path)
		}
	}
	if s.edge.A > 0 && s.thick > 0 {
		c.SetColor(s.edge)
		c.SetLineWidth(vg.Length(s.thick))
		c.Stroke(path)
	}
}
