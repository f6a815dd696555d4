/*
 * What the pages of share add with a script.
 */
