/*
 * What the pages of settings add with a script.
 */
