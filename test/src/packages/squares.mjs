export const square = (number) => number * number;
