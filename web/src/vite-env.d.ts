declare module "*.css";
declare module "*?worker&inline" {
  const Inline: new () => Worker;
  export default Inline;
}
