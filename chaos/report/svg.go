package report

import (
	"bytes"
	"fmt"
	"image/color"
	"io"

	svgo "github.com/ajstarks/svgo/float"
)

// writeSVG writes s to w.
func (s *scene) writeSVG(w io.Writer) error {
	var all bytes.Buffer // svgo loses the errors of its writer
	out := svgo.New(&all)
	out.Start(s.width, s.height, fmt.Sprintf(`viewBox="0 0 %.0f %.0f"`, s.width, s.height),
		`role="img"`, `font-family="Liberation Sans, Arial, Helvetica, sans-serif"`)
	out.Title(clean(s.about))
	out.Rect(0, 0, s.width, s.height, `fill="#ffffff"`)
	for i := range s.shapes {
		s.shapes[i].svg(out)
	}
	out.End()
	_, err := w.Write(all.Bytes())
	return err
}

func (s *shape) svg(out *svgo.SVG) {
	switch s.form {
	case open:
		out.Gid(s.class)
		if s.title != "" {
			out.Title(clean(s.title))
		}
		return
	case shut:
		out.Gend()
		return
	}
	if s.title != "" {
		out.Group(`class="pointed"`)
		out.Title(clean(s.title))
		defer out.Gend()
	}
	style := []string{fmt.Sprintf(`class="%s"`, s.class), paint("fill", s.fill)}
	if s.edge.A > 0 && s.form != words {
		style = append(style, paint("stroke", s.edge), fmt.Sprintf(`stroke-width="%.2g"`, s.thick))
	}
	xs, ys := make([]float64, len(s.points)), make([]float64, len(s.points))
	for i, p := range s.points {
		xs[i], ys[i] = p.x, p.y
	}
	switch s.form {
	case box:
		out.Rect(xs[0], ys[0], xs[1]-xs[0], ys[1]-ys[0], style...)
	case area:
		out.Polygon(xs, ys, style...)
	case line:
		out.Polyline(xs, ys, style...)
	case words:
		style = append(style, fmt.Sprintf(`font-size="%.3g"`, s.size),
			// Whatever font a viewer has, words end where they were measured to.
			fmt.Sprintf(`textLength="%.1f" lengthAdjust="spacingAndGlyphs"`, wide(s.text, s.size, s.bold)))
		if s.bold {
			style = append(style, `font-weight="bold"`)
		}
		out.Text(xs[0], ys[0], s.text, style...)
	}
}

// paint returns an attribute that paints with c.
func paint(what string, c color.NRGBA) string {
	switch c.A {
	case 0:
		return what + `="none"`
	case 255:
		return fmt.Sprintf(`%s="#%02x%02x%02x"`, what, c.R, c.G, c.B)
	}
	return fmt.Sprintf(`%s="#%02x%02x%02x" %s-opacity="%.2f"`, what, c.R, c.G, c.B, what, float64(c.A)/255)
}
