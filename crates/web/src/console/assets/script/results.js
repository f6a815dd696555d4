/*
 * What the pages of results add with a script.
 */
