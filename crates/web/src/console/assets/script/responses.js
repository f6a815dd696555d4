/*
 * What the pages of responses add with a script.
 */
