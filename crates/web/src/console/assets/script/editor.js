/*
 * What the pages of editor add with a script.
 */
