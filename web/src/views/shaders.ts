/**
 * The small programs that draw tokens, their trails and the ball on the graphics card. Colours come from two
 * textures with one texel per token: what it wears now, and what it wears as a leader.
 */

export const COLOUR_TEXTURE_WIDTH = 128; // texels in a row of the texture

const LOOKUP = `
uniform sampler2D colours;
vec4 texelOf(sampler2D table, float token) {
  int k = int(token + 0.5);
  return texelFetch(table, ivec2(k % ${COLOUR_TEXTURE_WIDTH}, k / ${COLOUR_TEXTURE_WIDTH}), 0);
}
vec3 colourOf(float token) {
  return texelOf(colours, token).rgb;
}`;

export const TOKEN_VERTEX = `
attribute float token;
attribute float mark;
uniform float size;
uniform float pixel;
uniform float hover;
uniform vec3 eye;
varying vec3 tint;
varying float ring;
varying float facing;
varying float lit;
varying float large;
${LOOKUP}
void main() {
  tint = colourOf(token);
  ring = mark;
  lit = abs(token - hover) < 0.5 ? 1.0 : 0.0;
  facing = dot(position, eye);
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
  gl_PointSize = size * (1.0 + 0.18 * facing) * (lit > 0.5 ? 2.2 : mark > 0.5 ? 1.75 : 1.0);
  if (mark > 0.5 || lit > 0.5) gl_PointSize = max(gl_PointSize, 9.0 * pixel); // a smaller ring is none
  large = gl_PointSize > 6.0 ? 1.0 : 0.0;
}`;

export const TOKEN_FRAGMENT = `
uniform vec3 paper;
uniform vec3 ink;
uniform vec3 red;
varying vec3 tint;
varying float ring;
varying float facing;
varying float lit;
varying float large;
void main() {
  float r = 2.0 * length(gl_PointCoord - 0.5);
  float edge = 1.0 - smoothstep(1.0 - min(fwidth(r), 0.3), 1.0, r);
  if (edge <= 0.0) discard;
  bool rim = r > 0.8 && large > 0.5 && ring < 0.5 && lit < 0.5;
  vec3 colour = tint;
  if (ring > 0.5) {
    colour = r < 0.5 ? tint : r < 0.66 ? paper : ring > 1.5 ? red : ink;
  } else if (rim) {
    colour = mix(tint, paper, 0.65);
  }
  if (lit > 0.5) colour = r < 0.6 ? tint : r < 0.72 ? paper : ink;
  float behind = smoothstep(0.15, -0.35, facing) * (1.0 - lit);
  gl_FragColor = vec4(mix(colour, paper, 0.55 * behind), edge);
  // in a crowd no rim hides the colour of a neighbour
  gl_FragDepth = gl_FragCoord.z + (rim || edge < 1.0 ? 0.0005 : 0.0);
}`;

export const FROZEN_VERTEX = `
uniform float pixel;
uniform vec3 eye;
varying float facing;
void main() {
  facing = dot(position, eye);
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
  gl_Position.z -= 0.001 * gl_Position.w; // before a token that has come to rest there
  gl_PointSize = 28.0 * pixel * (1.0 + 0.18 * facing); // around the ring of a center
}`;

export const FROZEN_FRAGMENT = `
uniform vec3 paper;
uniform vec3 ink;
varying float facing;
void main() {
  vec2 at = abs(2.0 * gl_PointCoord - 1.0);
  float r = at.x + at.y;
  float soft = fwidth(r);
  float edge = smoothstep(0.76 - soft, 0.76, r) * (1.0 - smoothstep(1.0 - soft, 1.0, r));
  if (edge <= 0.0) discard;
  gl_FragColor = vec4(mix(ink, paper, 0.68 * smoothstep(0.15, -0.35, facing)), edge);
}`;

/** Tokens of another run: small hollow circles. */
export const GHOST_VERTEX = `
uniform float pixel;
uniform vec3 eye;
varying float facing;
void main() {
  facing = dot(position, eye);
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
  gl_PointSize = 8.0 * pixel * (1.0 + 0.18 * facing);
}`;

export const GHOST_FRAGMENT = `
uniform vec3 paper;
uniform vec3 soft;
varying float facing;
void main() {
  float r = 2.0 * length(gl_PointCoord - 0.5);
  float wide = fwidth(r);
  float edge = smoothstep(0.6 - wide, 0.6, r) * (1.0 - smoothstep(1.0 - wide, 1.0, r));
  if (edge <= 0.0) discard;
  gl_FragColor = vec4(mix(soft, paper, 0.6 * smoothstep(0.15, -0.35, facing)), 0.85 * edge);
}`;

export const TRAIL_VERTEX = `
attribute float token;
attribute float leader;
attribute float frame;
uniform sampler2D ownColours;
uniform vec3 eye;
varying vec3 tint;
varying float at;
varying float facing;
varying float bright;
${LOOKUP}
void main() {
  tint = texelOf(ownColours, leader).rgb;
  bright = texelOf(colours, token).a;
  at = frame;
  facing = dot(position, eye);
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;

export const TRAIL_FRAGMENT = `
uniform float cursor;
uniform float strength;
varying vec3 tint;
varying float at;
varying float facing;
varying float bright;
void main() {
  if (at > cursor) discard;
  float fresh = exp((at - cursor) / 14.0);
  float behind = smoothstep(0.15, -0.35, facing);
  gl_FragColor = vec4(tint, bright * strength * mix(0.42, 1.0, fresh) * (1.0 - 0.75 * behind));
}`;

export const BALL_VERTEX = `
varying vec3 at;
void main() {
  at = normalize(normalMatrix * normal);
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;

export const BALL_FRAGMENT = `
uniform vec3 ink;
varying vec3 at;
void main() {
  float rim = pow(1.0 - abs(at.z), 2.5);
  gl_FragColor = vec4(ink, 0.02 + 0.16 * rim);
}`;
