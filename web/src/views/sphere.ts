/**
 * Tokens on the sphere, drawn by the graphics card; in more than three dimensions, their shadow along the top
 * principal directions.
 */

import {
  BufferAttribute,
  BufferGeometry,
  DataTexture,
  DynamicDrawUsage,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  Object3D,
  Points,
  Scene,
  ShaderMaterial,
  SphereGeometry,
  Vector3,
  WebGLRenderer,
} from "three";
import { rgb } from "../colours.ts";
import { Panel } from "../panel.ts";
import type { RunRecord } from "../run_record.ts";
import { currentFrame, NUDGE_RADIANS, type View, type ViewContext } from "../view_context.ts";
import { PICTURE_DENSITY, pngOf } from "../pictures.ts";
import { LOOK } from "../state.ts";
import { Fingers, TAP_PIXELS } from "../touch.ts";
import { ghostOf, ghostPlaces } from "./ghost.ts";
import { graticule } from "./graticule.ts";
import { FIELD_OF_VIEW_DEGREES, Orbit } from "./orbit.ts";
import {
  BALL_FRAGMENT,
  BALL_VERTEX,
  FROZEN_FRAGMENT,
  FROZEN_VERTEX,
  GHOST_FRAGMENT,
  GHOST_VERTEX,
  TOKEN_FRAGMENT,
  TOKEN_VERTEX,
  TRAIL_FRAGMENT,
  TRAIL_VERTEX,
  COLOUR_TEXTURE_WIDTH,
} from "./shaders.ts";
import { SpherePredictions } from "./sphere_predictions.ts";
import { sphereSvg, type Dot } from "./sphere_svg.ts";
import { TraceTools } from "./trace_tools.ts";
import { Trails } from "./trails.ts";

const SPHERE_PICK_PIXELS = 12; // from a token to the pointer
const FINGER_PICK_PIXELS = 24; // to a finger
const WHOLE_BALL_DISTANCE = 2.8; // from here on a trace's tokens are looked at, no longer the ball
const TOKENS_DISTANCE = 1.5; // here they are in the middle
const LARGEST_ZOOM_OF_DOTS = 2.2;
const LARGEST_ZOOM_OF_WORDS = 1.2; // of dots that have words
const WORDS_OVER_TRAILS = 0.4; // so strong are trails where words have to be read

const rgbVector = (hex: string): Vector3 => new Vector3(...rgb(hex)).divideScalar(255);

export class Sphere implements View {
  readonly name = "sphere";
  readonly panel: Panel;
  readonly element: HTMLElement;
  private readonly renderer: WebGLRenderer;
  private readonly scene = new Scene();
  private readonly orbit: Orbit;
  private readonly grid = new LineSegments(
    graticule(),
    new LineBasicMaterial({ transparent: true, depthWrite: false }),
  );
  private readonly uniforms = {
    colours: { value: new DataTexture(new Uint8Array(4), 1, 1) },
    ownColours: { value: new DataTexture(new Uint8Array(4), 1, 1) },
    paper: { value: new Vector3() },
    ink: { value: new Vector3() },
    red: { value: new Vector3() },
    soft: { value: new Vector3() },
    eye: { value: new Vector3() },
    size: { value: 6 },
    pixel: { value: 1 }, // of the screen, in those of the canvas
    hover: { value: -1 },
    cursor: { value: 0 },
    strength: { value: 1 },
  };
  private readonly points: Points<BufferGeometry, ShaderMaterial>;
  private readonly frozen: Points<BufferGeometry, ShaderMaterial>;
  private readonly ghost: Points<BufferGeometry, ShaderMaterial>;
  private readonly trails: Trails;
  private readonly parts: Object3D[]; // in the order in which they are drawn
  private run: RunRecord | null = null;
  private positions = new Float32Array(0); // (n, 3) what is drawn now
  private frozenPositions: Float32Array = new Float32Array(0); // (m, 3) frozen tokens
  private frozenDirections: Float64Array | null | undefined; // in which they are seen
  private readonly tools: TraceTools;
  private readonly predictions: SpherePredictions;
  private paintedKey = ""; // palette and size that the texture holds
  private readonly fingers: Fingers;
  private drag: { kind: "turn" | "token" | "finger"; x: number; y: number; token: number } | null = null;

  constructor(private readonly context: ViewContext) {
    this.panel = new Panel("sphere", { png: () => this.png(), svg: () => this.svg() });
    this.panel.acceptKeys();
    this.panel.ringLegend();
    this.element = this.panel.element;
    this.renderer = new WebGLRenderer({ canvas: this.panel.canvas, antialias: true, alpha: true });
    this.orbit = new Orbit([...context.look.camera], (camera) => context.changeLook({ camera }));
    this.predictions = new SpherePredictions(context, this.panel.stage);
    this.tools = new TraceTools(context, this.panel, (closer) =>
      closer === null ? context.changeLook({ camera: [...LOOK.camera] }) : this.orbit.turn(0, 0, closer),
    );
    const shader = (vertexShader: string, fragmentShader: string, transparent: boolean): ShaderMaterial =>
      new ShaderMaterial({
        uniforms: this.uniforms,
        vertexShader,
        fragmentShader,
        transparent,
        depthWrite: !transparent,
      });
    const dots = (vertexShader: string, fragmentShader: string): Points<BufferGeometry, ShaderMaterial> => {
      // what is transparent is drawn in order: dots come after the trails
      const material = shader(vertexShader, fragmentShader, true);
      material.depthWrite = true;
      return new Points(new BufferGeometry(), material);
    };
    this.points = dots(TOKEN_VERTEX, TOKEN_FRAGMENT);
    this.frozen = dots(FROZEN_VERTEX, FROZEN_FRAGMENT);
    this.ghost = dots(GHOST_VERTEX, GHOST_FRAGMENT);
    this.ghost.material.depthWrite = false;
    this.trails = new Trails(shader(TRAIL_VERTEX, TRAIL_FRAGMENT, true));
    const ball = new Mesh(new SphereGeometry(0.995, 64, 48), shader(BALL_VERTEX, BALL_FRAGMENT, true));
    this.parts = [ball, this.grid, this.trails.lines, this.ghost, this.points, this.frozen];
    this.parts.forEach((thing, order) => {
      thing.renderOrder = order;
      thing.frustumCulled = false;
      this.scene.add(thing);
    });
    this.fingers = new Fingers(this.panel.canvas, {
      holds: (x, y) => context.movable && this.run?.d === 3 && this.tokenAt(x, y) !== null,
      pinched: (apart, dx, dy) => this.orbit.turn(dx / 180, dy / 180, apart),
    });
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.panel.stage);
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.panel.stage;
    if (width < 20 || height < 20) return;
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.setSize(width, height);
    this.orbit.camera.aspect = width / height;
    // keeps the ball inside a narrow stage
    const opening = Math.tan(((FIELD_OF_VIEW_DEGREES / 2) * Math.PI) / 180) * Math.max(1, height / width);
    this.orbit.camera.fov = (360 / Math.PI) * Math.atan(opening);
    this.orbit.camera.updateProjectionMatrix();
    this.tools.resize(width, height);
    this.predictions.resize(width, height);
    this.context.redraw();
  }

  /**
   * New buffers for a new run: one geometry for the tokens, one for trails, both refilled in place from then
   * on.
   */
  private begin(run: RunRecord): void {
    this.run = run;
    const { n } = run;
    this.positions = new Float32Array(n * 3);
    const mark = new Float32Array(n);
    for (const k of run.begun.centers.renyi) mark[k] = 1;
    for (const k of run.begun.centers.strong) mark[k] = 2;
    const tokens = new BufferGeometry()
      .setAttribute("position", new BufferAttribute(this.positions, 3).setUsage(DynamicDrawUsage))
      .setAttribute(
        "token",
        new BufferAttribute(
          Float32Array.from({ length: n }, (_, k) => k),
          1,
        ),
      )
      .setAttribute("mark", new BufferAttribute(mark, 1));
    this.points.geometry.dispose();
    this.points.geometry = tokens;
    this.trails.begin(run);
    this.frozenDirections = undefined;
    const rows = Math.ceil(n / COLOUR_TEXTURE_WIDTH);
    for (const table of [this.uniforms.colours, this.uniforms.ownColours]) {
      table.value.dispose();
      const bytes = new Uint8Array(COLOUR_TEXTURE_WIDTH * rows * 4);
      table.value = new DataTexture(bytes, COLOUR_TEXTURE_WIDTH, rows);
    }
    this.paintedKey = "";
  }

  /** Frozen tokens, again when the directions in which all is seen are known. */
  private placeFrozen(run: RunRecord): void {
    const { directions } = run;
    if (directions === this.frozenDirections) return;
    this.frozenDirections = directions;
    this.frozenPositions = run.frozenShown;
    this.frozen.visible = this.frozenPositions.length > 0;
    this.frozen.geometry.dispose();
    this.frozen.geometry = new BufferGeometry().setAttribute(
      "position",
      new BufferAttribute(this.frozenPositions, 3),
    );
    this.panel.showFrozen(this.frozen.visible);
    this.panel.showRings(run.begun.centers.renyi.length > 0);
  }

  /** Tokens of the pinned run; above three dimensions it is seen in the directions of this one. */
  private placeGhost(): void {
    const other = ghostOf(this.context, (ghost) => ghost.d === this.run?.d);
    this.ghost.visible = other !== null;
    if (other === null) return;
    const places = ghostPlaces(this.context, other);
    const held = this.ghost.geometry.attributes.position as BufferAttribute | undefined;
    if (held?.count === other.n) {
      held.copyArray(places);
      held.needsUpdate = true;
      return;
    }
    this.ghost.geometry.dispose();
    this.ghost.geometry = new BufferGeometry().setAttribute("position", new BufferAttribute(places, 3));
  }

  private paintTokens(): void {
    const { palette } = this.context;
    const key = `${palette.version}/${palette.trailVersion}/${palette.bytes.length}`;
    if (key === this.paintedKey) return;
    this.paintedKey = key;
    const { colours, ownColours } = this.uniforms;
    (colours.value.image.data as Uint8Array).set(palette.bytes);
    (ownColours.value.image.data as Uint8Array).set(palette.own);
    colours.value.needsUpdate = ownColours.value.needsUpdate = true;
  }

  draw(): void {
    const { run, cursor, theme, look, hover } = this.context;
    if (this.element.hidden || run === null || run.frameCount === 0) return;
    if (run !== this.run) this.begin(run);
    this.orbit.set(look.camera);
    run.positions(cursor, this.positions);
    this.orbit.lookAt(run.trace === null ? null : this.middle());
    this.points.geometry.attributes.position.needsUpdate = true;
    this.placeFrozen(run);
    this.trails.lines.visible = look.trails;
    if (look.trails) {
      this.trails.grow(run, this.context.palette);
      this.trails.show(cursor);
    }
    this.placeGhost();
    this.paintTokens();
    const { uniforms } = this;
    uniforms.paper.value.copy(rgbVector(theme.paper));
    uniforms.ink.value.copy(rgbVector(theme.ink));
    uniforms.red.value.copy(rgbVector(theme.red));
    uniforms.soft.value.copy(rgbVector(theme.soft));
    uniforms.eye.value.copy(this.orbit.eye);
    uniforms.hover.value = hover ?? -1;
    uniforms.cursor.value = cursor;
    const strength = Math.min(1, 0.3 + 30 / this.trails.tokens.length);
    uniforms.strength.value = run.trace === null ? strength : WORDS_OVER_TRAILS * strength;
    uniforms.size.value = this.dotSize(run.n);
    uniforms.pixel.value = this.renderer.getPixelRatio();
    this.grid.material.color.setRGB(...(rgb(theme.ink).map((c) => c / 255) as [number, number, number]));
    this.grid.material.opacity = 0.1;
    this.renderer.render(this.scene, this.orbit.camera);
    this.describe(run);
    this.tools.draw(run, this.dots(this.positions));
    this.predictions.draw(this.positions, (places) => this.dots(places));
  }

  /** Between the middle of the ball and that of the tokens, the closer one looks. */
  private middle(): number[] {
    const share = (WHOLE_BALL_DISTANCE - this.orbit.angles[2]) / (WHOLE_BALL_DISTANCE - TOKENS_DISTANCE);
    const sum = [0, 0, 0];
    for (let i = 0; i < this.positions.length; i++) sum[i % 3] += this.positions[i];
    const n = this.positions.length / 3;
    return sum.map((value) => (Math.max(0, Math.min(1, share)) * value) / n);
  }

  private dotSize(n: number): number {
    const room = Math.min(1.4, Math.max(0.7, this.panel.stage.clientHeight / 460));
    return (
      Math.max(3.4, 12 * (32 / Math.max(8, n)) ** 0.26) *
      room *
      Math.min(
        this.run?.trace == null ? LARGEST_ZOOM_OF_DOTS : LARGEST_ZOOM_OF_WORDS,
        3.4 / this.orbit.angles[2],
      ) *
      this.renderer.getPixelRatio()
    );
  }

  private describe(run: RunRecord): void {
    if (run.trace !== null) {
      const share = Math.round(100 * run.trace.lostAt(currentFrame(this.context)));
      const aloud = `${run.n} tokens in 3 of ${run.d} directions, which lose ${share} % of squared length`;
      return this.panel.showReading("", aloud);
    }
    const tokens = run.n === 1 ? "1 token" : `${run.n} tokens`;
    const shadow =
      run.d > 3
        ? run.measured?.directions
          ? `top 3 principal directions of ${run.d}`
          : `first three of ${run.d} coordinates`
        : "";
    const { length } = this.trails.tokens;
    const some = this.context.look.trails && length < run.n ? `trails of ${length} tokens` : "";
    const still = run.frozen > 0 ? `${tokens} and ${run.frozen} frozen` : "";
    this.panel.showReading([shadow, some, still].filter(Boolean).join("; ") || tokens);
  }

  // Pointer and keyboard

  private listen(): void {
    const { canvas } = this.panel;
    canvas.addEventListener("pointerdown", (event) => {
      const token = this.tokenAt(event.offsetX, event.offsetY);
      const carries = token !== null && this.context.movable && this.run?.d === 3;
      this.drag = {
        kind: carries ? "token" : event.pointerType === "touch" ? "finger" : "turn",
        x: event.clientX,
        y: event.clientY,
        token: token ?? -1,
      };
      canvas.setPointerCapture(event.pointerId);
      if (event.pointerType !== "mouse")
        this.context.highlight(token ?? this.tokenAt(event.offsetX, event.offsetY, FINGER_PICK_PIXELS));
    });
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => {
      if (this.drag?.kind === "token") this.context.moveToken(this.drag.token, this.onSphere(event), true);
      this.drag = null;
    });
    canvas.addEventListener("pointercancel", () => (this.drag = null));
    canvas.addEventListener("pointerleave", (event) => {
      // a finger leaves by being lifted: what it has chosen stays
      if (this.drag === null && event.pointerType === "mouse") this.context.highlight(null);
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        // there the wheel scrolls the page
        if (matchMedia("(max-width: 900px)").matches && !event.ctrlKey) return;
        event.preventDefault();
        this.orbit.turn(0, 0, Math.exp(-event.deltaY / 900));
      },
      { passive: false },
    );
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey) return;
      const known = event.altKey
        ? this.nudge(event.key)
        : event.key === "0"
          ? (this.context.changeLook({ camera: [...LOOK.camera] }), true)
          : this.orbit.key(event.key);
      if (!known) return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  private move(event: PointerEvent): void {
    if (this.fingers.pinching) this.drag = null;
    const { drag } = this;
    if (drag === null) {
      const token = this.tokenAt(event.offsetX, event.offsetY);
      this.panel.canvas.classList.toggle(
        "grabs",
        token !== null && this.context.movable && this.run?.d === 3,
      );
      return this.context.highlight(token);
    }
    if (drag.kind === "token") return this.context.moveToken(drag.token, this.onSphere(event), false);
    if (drag.kind === "finger") {
      // until it has gone sideways it may be a swipe, which scrolls
      const [dx, dy] = [Math.abs(event.clientX - drag.x), Math.abs(event.clientY - drag.y)];
      if (dx < TAP_PIXELS || dx < dy) return;
      drag.kind = "turn";
    }
    this.orbit.turn((event.clientX - drag.x) / 180, (event.clientY - drag.y) / 180);
    [drag.x, drag.y] = [event.clientX, event.clientY];
  }

  private nudge(key: string): boolean {
    const { hover, movable, run } = this.context;
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[key];
    if (step === undefined || hover === null || !movable || run?.d !== 3) return false;
    const { camera } = this.orbit;
    const right = new Vector3().setFromMatrixColumn(camera.matrixWorld, 0);
    const up = new Vector3().setFromMatrixColumn(camera.matrixWorld, 1);
    const to = new Vector3(...run.token(0, hover))
      .addScaledVector(right, step[0] * NUDGE_RADIANS)
      .addScaledVector(up, step[1] * NUDGE_RADIANS)
      .normalize();
    this.context.moveToken(hover, to.toArray(), false);
    return true;
  }

  /** Where the pointer touches the unit sphere, or the nearest place on its outline. */
  private onSphere(event: PointerEvent): number[] {
    const { clientWidth: width, clientHeight: height } = this.panel.stage;
    const { camera } = this.orbit;
    const ray = new Vector3((2 * event.offsetX) / width - 1, 1 - (2 * event.offsetY) / height, 0.5)
      .unproject(camera)
      .sub(camera.position)
      .normalize();
    const along = -camera.position.dot(ray);
    const miss = camera.position.lengthSq() - along * along; // squared distance of the ray from the middle
    const hit = along - Math.sqrt(Math.max(0, 1 - miss));
    return camera.position.clone().addScaledVector(ray, hit).normalize().toArray();
  }

  /** Places (n, 3) on the stage: (x, y) in pixels and how far they face the eye. */
  private project(
    places: ArrayLike<number>,
    visit: (k: number, x: number, y: number, facing: number) => void,
  ): void {
    const { clientWidth: width, clientHeight: height } = this.panel.stage;
    const at = new Vector3();
    const { eye } = this.orbit;
    for (let k = 0; k < places.length / 3; k++) {
      at.set(places[3 * k], places[3 * k + 1], places[3 * k + 2]);
      const facing = at.dot(eye);
      at.project(this.orbit.camera);
      visit(k, ((at.x + 1) * width) / 2, ((1 - at.y) * height) / 2, facing);
    }
  }

  /** Where a token is drawn, in pixels of the stage. */
  dotOf(token: number): [number, number] {
    const { x, y } = this.dots(this.positions)[token];
    return [x, y];
  }

  private dots(places: ArrayLike<number>): Dot[] {
    const dots: Dot[] = [];
    this.project(places, (k, x, y, facing) => dots.push({ k, x, y, facing }));
    return dots;
  }

  private tokenAt(x: number, y: number, within = SPHERE_PICK_PIXELS): number | null {
    let best: number | null = null;
    let nearest = within ** 2;
    this.project(this.positions, (k, px, py, facing) => {
      const apart = (px - x) ** 2 + (py - y) ** 2 + (facing < 0 ? 60 : 0); // the front wins
      if (apart < nearest) [nearest, best] = [apart, k];
    });
    return best;
  }

  // Pictures to keep

  private png(): Promise<Blob> {
    return pngOf(this.pictureAt(PICTURE_DENSITY));
  }

  /** Drawn once more at that density; the card says where it has an end. */
  pictureAt(scale: number, whole = true): HTMLCanvasElement {
    const { canvas, stage } = this.panel;
    const { capabilities } = this.renderer;
    const most = capabilities.maxTextureSize / Math.max(stage.clientWidth, stage.clientHeight, 1);
    const usual = this.renderer.getPixelRatio();
    this.renderer.setPixelRatio(Math.min(scale, most));
    this.draw(); // the buffer is only full right after drawing
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [canvas.width, canvas.height];
    const to = copy.getContext("2d")!;
    to.fillStyle = this.context.theme.paper;
    to.fillRect(0, 0, copy.width, copy.height);
    to.drawImage(canvas, 0, 0);
    if (whole) this.widenTrails(to, this.renderer.getPixelRatio() / usual); // a film has no time for it
    to.drawImage(this.predictions.canvas, 0, 0, copy.width, copy.height);
    if (this.run?.trace != null) this.tools.paint(this.run, this.dots(this.positions), to, copy.width);
    this.renderer.setPixelRatio(usual);
    this.draw();
    return copy;
  }

  /** The card’s lines are one pixel wide at any density: trails again beside themselves, then dots on top. */
  private widenTrails(to: CanvasRenderingContext2D, width: number): void {
    const { camera } = this.orbit;
    const { width: w, height: h } = this.panel.canvas;
    const reach = Math.floor(width / 2);
    for (let by = -reach; by <= reach; by++)
      for (const [x, y] of by === 0
        ? []
        : [
            [by, 0],
            [0, by],
          ]) {
        camera.setViewOffset(w, h, x, y, w, h);
        this.renderOnly(this.trails.lines);
        to.drawImage(this.panel.canvas, 0, 0);
      }
    camera.clearViewOffset();
    this.renderOnly(this.points, this.frozen);
    to.drawImage(this.panel.canvas, 0, 0);
  }

  private renderOnly(...shown: Object3D[]): void {
    const before = this.parts.map(({ visible }) => visible);
    for (const part of this.parts) part.visible &&= shown.includes(part);
    this.renderer.render(this.scene, this.orbit.camera);
    this.parts.forEach((part, i) => (part.visible = before[i]));
  }

  svg(): string {
    const { clientWidth: width, clientHeight: height } = this.panel.stage;
    const far = this.orbit.angles[2];
    const focal = height / 2 / Math.tan((this.orbit.camera.fov * Math.PI) / 360);
    const size = this.dotSize(this.run?.n ?? 1) / this.renderer.getPixelRatio() / 2;
    const outline = focal / Math.sqrt(Math.max(far * far - 1, 1e-4));
    const shown = {
      tokens: this.positions,
      frozen: this.frozenPositions,
      trails: this.context.look.trails ? this.trails.tokens : [],
    };
    const middle = this.dots([0, 0, 0])[0];
    const labels = this.run?.trace == null ? [] : this.tools.labels(this.run, this.dots(this.positions));
    const look = { width, height, outline: { x: middle.x, y: middle.y, radius: outline }, size };
    const place = (places: ArrayLike<number>): Dot[] => this.dots(places);
    return sphereSvg(this.context, look, place, shown, labels, (pen) =>
      this.predictions.paint(pen, this.positions, place),
    );
  }
}
