/** How far the story has gone through the tokens in search of centers; the circle draws it. */

/** `looked`: so many tokens were looked at; null: the story is not there. */
export const parking: { looked: number | null } = { looked: null };
