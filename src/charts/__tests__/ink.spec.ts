import { SvgInk } from '../ink';

const inkOf = () => new SvgInk(text => text.length * 6);

describe('ink that leaves SVG', () => {
  it('has boxes and lines in the colours of the canvas, as programs for drawings know them', () => {
    const ink = inkOf();
    ink.fillStyle = 'rgba(255, 0, 0, 0.5)';
    ink.globalAlpha = 0.5;
    ink.fillRect(1, 2, 3, 4);
    ink.globalAlpha = 1;
    ink.strokeStyle = '#00ff00';
    ink.lineWidth = 2;
    ink.strokeRect(5, 6, 7, 8);
    ink.beginPath();
    ink.moveTo(0, 0);
    ink.lineTo(9, 9);
    ink.stroke();
    expect(ink.drawn.markup).toBe(
      '<rect x="1" y="2" width="3" height="4" fill="#ff0000" fill-opacity="0.25"/>' +
        '<rect x="5" y="6" width="7" height="8" fill="none" stroke="#00ff00" stroke-width="2"/>' +
        '<path d="M0 0L9 9" fill="none" stroke="#00ff00" stroke-width="2"/>'
    );
  });

  it('has texts of the size of their font, about their middle, and as nothing but text', () => {
    const ink = inkOf();
    ink.font = '22px Some Font, sans-serif';
    ink.fillStyle = '#000000';
    ink.fillText('<b>', 10, 20);
    ink.fillText('', 10, 20);
    expect(ink.drawn.markup).toBe(
      '<text x="10" y="27" font-size="22" font-family="Some Font, sans-serif" fill="#000000">&lt;b&gt;</text>'
    );
    expect(ink.measureText('abc').width).toBe(36);
  });

  it('leaves nothing of boxes without a width, which would be an error, nor of a path without a line', () => {
    const ink = inkOf();
    ink.fillRect(1, 2, -3, 4);
    ink.strokeRect(1, 2, 3, 0);
    ink.beginPath();
    ink.stroke();
    expect(ink.drawn.markup).toBe('');
  });
});
