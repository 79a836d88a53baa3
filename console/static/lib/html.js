// What components are made of, under one name: templates by htm, and preact's hooks and signals.
import { h, render, Fragment } from 'preact';
import { useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { batch, computed, effect, signal } from '@preact/signals';
import htm from 'htm';

export const html = htm.bind(h);
export { batch, computed, effect, signal, render, Fragment, useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useRef, useState };
