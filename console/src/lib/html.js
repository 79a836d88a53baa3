// What components are made of, under one name: templates by htm, and preact's hooks and signals.
import { batch, computed, effect, signal } from '@preact/signals';
import htm from 'htm';
import { Fragment, h, render } from 'preact';
import { useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';

export const html = htm.bind(h);
export {
  batch,
  computed,
  effect,
  signal,
  render,
  Fragment,
  useEffect,
  useErrorBoundary,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
};
